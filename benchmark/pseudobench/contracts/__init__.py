"""Everything a plugin is written against: values, protocols, parameters, methods, settings, hooks."""
