"""Fetching from a server on this machine: checked, and in place whole or not at all."""

from __future__ import annotations

import hashlib
import io
import tarfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from pseudobench import BenchError
from pseudobench.files.fetching import download, reporting, staged, unpack

CONTENT = bytes(range(256)) * 4000


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        claimed = {"/whole": len(CONTENT), "/cut": len(CONTENT) + 1}.get(self.path)
        self.send_response(404 if self.path == "/none" else 200)
        if claimed:
            self.send_header("Content-Length", str(claimed))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=partial(serving.serve_forever, poll_interval=0.01))
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    thread.join()
    serving.server_close()


MD5 = "md5:" + hashlib.md5(CONTENT).hexdigest()


@pytest.mark.parametrize(("path", "total"), [("whole", len(CONTENT)), ("unsized", None)])
def test_a_download_is_whole_and_tells_how_far_it_is(server, tmp_path, path, total):
    told = []
    with reporting(lambda *words: told.append(words)):
        download(f"{server}/{path}", tmp_path / "file", MD5)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert told[-1] == ("fetching file", len(CONTENT), total)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})


@pytest.mark.parametrize(
    ("path", "checksum", "error"),
    [("none", MD5, OSError), ("cut", MD5, OSError), ("whole", "sha256:" + "0" * 64, BenchError)],
)
def test_nothing_stays_of_a_download_that_fails(server, tmp_path, path, checksum, error):
    (tmp_path / "data").mkdir()
    with pytest.raises(error), staged(tmp_path / "data") as folder:
        download(f"{server}/{path}", folder / "file", checksum)
    assert list((tmp_path / "data").iterdir()) == []


def test_nothing_stays_of_what_was_interrupted(tmp_path):
    (tmp_path / "old").write_text("kept")

    def interrupted():
        with staged(tmp_path) as folder:
            (folder / "old").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [file.name for file in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "kept"


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    "bad",
    [
        member("/etc/evil"),
        member("../evil"),
        member("a/../../evil"),
        member("..\\evil"),
        member("C:\\evil"),
        member("link", tarfile.SYMTYPE, "/etc/passwd"),
        member("link", tarfile.LNKTYPE, "good"),
        member("pipe", tarfile.FIFOTYPE),
        member("device", tarfile.CHRTYPE),
    ],
    ids=lambda info: f"{info.name}-{info.type.decode()}",
)
def test_an_archive_with_a_bad_member_is_not_unpacked_at_all(tmp_path, bad):
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        archive.addfile(member("good"), io.BytesIO())
        archive.addfile(bad, io.BytesIO())
    (tmp_path / "into").mkdir()
    with pytest.raises(BenchError, match="nothing is unpacked"):
        unpack(tmp_path / "a.tgz", tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []


def test_a_broken_archive_is_one_line(tmp_path):
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        archive.add(__file__, "folder/file")
    unpack(tmp_path / "a.tgz", tmp_path)
    assert (tmp_path / "folder" / "file").is_file()
    whole = (tmp_path / "a.tgz").read_bytes()
    for broken in (b"", b"nothing", whole[: len(whole) // 2]):
        (tmp_path / "a.tgz").write_bytes(broken)
        with pytest.raises(BenchError, match=r"a\.tgz can't be unpacked"):
            unpack(tmp_path / "a.tgz", tmp_path)


def test_a_data_folder_that_is_a_file_is_refused_first(bench, tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (("data", "cifar10"), ("data",), ("run", "--dataset", "digits")):
        outcome = bench(*arguments, "--data-dir", "file")
        assert outcome.code == 2
        assert outcome.err == "error: the data folder file is a file; name a folder\n"
