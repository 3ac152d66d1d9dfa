"""LaTeX tables are compiled by the TeX that is installed, within the width of a column."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "results"
DOCUMENT = r"""\documentclass[twocolumn]{article}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,graphicx}
\begin{document}
%s
See Table~\ref{tab:ours}.
\end{document}
"""


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="TeX is not installed (apt-get install texlive-latex-base)"
)
@pytest.mark.parametrize("more", [[], ["--caption", r"Ours, $\alpha = 0.1$"]])
def test_a_table_compiles_and_fits_its_column(bench, tmp_path, more):
    made = bench("table", str(RESULTS / "cifar10-head-ablation"), "--format", "latex", "--label", "tab:ours", *more)
    assert made.code == 0
    assert made.out.startswith("% Made by pseudobench ")
    (tmp_path / "a.tex").write_text(DOCUMENT % made.out)
    for _ in range(2):  # the second time it knows the reference
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-1500:]
    assert "undefined references" not in done.stdout
    over = re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout.partition("\\caption")[0])
    assert not [each for each in over if float(each) > 30]


def test_captions_and_labels_are_for_latex(bench):
    outcome = bench("table", str(RESULTS / "digits"), "--label", "x")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "--format latex" in outcome.err
