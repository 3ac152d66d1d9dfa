"""``python -m pseudobench`` is ``bench``."""

from pseudobench.cli.main import main

main()
