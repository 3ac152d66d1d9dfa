"""The report and the figures: sections of records, what is drawn of them, the charts, and the page around them."""
