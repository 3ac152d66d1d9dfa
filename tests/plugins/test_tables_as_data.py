"""Tables of numbers and categories: encoded as scikit-learn encodes them, or refused in one line."""

from __future__ import annotations

import numpy as np
import pytest
from vector_files import people

from pseudobench import BenchError
from pseudobench_tables.sources import Table


def test_a_table_is_encoded_by_its_training_rows_alone(tmp_path):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = people()
    frame["part"] = np.where(np.arange(200) < 150, "train", "test")
    frame.loc[160, "city"] = "Paris"  # in no training row
    frame.loc[170, "age"] = 1e9
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = Table(str(tmp_path / "t.csv")).load(tmp_path)
    theirs = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city"]),
    )
    columns = ["age", "income", "city"]
    np.testing.assert_allclose(data.train_images, theirs.fit_transform(frame.loc[:149, columns]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(data.test_images, theirs.transform(frame.loc[150:, columns]), rtol=1e-5, atol=1e-6)
    assert data.test_images[10, 2:].tolist() == [0, 0, 0]
    assert data.train_labels.tolist() == (frame.label[:150] == "yes").astype(int).tolist()


@pytest.mark.parametrize("name", ["label", "Target", "last"])
def test_the_label_is_found_by_name_or_is_last(tmp_path, name):
    frame = people().rename(columns={"label": name})
    if name != "last":
        frame = frame[[name, "age", "income", "city"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = Table(str(tmp_path / "t.csv")).load(tmp_path)
    assert data.classes == 2
    assert data.train_images.shape[1] == 5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,label", "1,x", "2,y"], "samples both to train and to test"),
        (["label", "x", "y"], "must have a column besides the label"),
        (["a,label", *["1,x"] * 9], "at least two classes"),
        (["a,label", *["1,x"] * 9, "2,"], "row 10: no label"),
        (["a,label,part", *["1,x,train", "2,y,dev"] * 9], "the column part says train or test.*dev"),
        (["a,label,part", *["1,x,train", "2,y,train"] * 9, "b,x,test"], "row 19: 'b' in the column 'a' of numbers"),
        (["a,label", *["inf,x", "2,y"] * 9], "row 1: 'inf' in the column 'a' of numbers"),
    ],
)
def test_bad_tables_are_one_line(tmp_path, rows, message):
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(BenchError, match=message):
        Table(str(tmp_path / "t.csv")).load(tmp_path)
