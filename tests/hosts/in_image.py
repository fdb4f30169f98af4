"""The image that serves the site: built of `dist`'s files, whose folder is the last argument, by buildah, and started.

Its base image comes from another registry, so an image of that name is made from this machine's nginx with the same layout.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

from playwright.sync_api import Browser
from served import PATIENCE_S, browser, files_of, opened, served

PORT = 8080
NEEDED = {"buildah": "buildah", "nginx": "nginx-light"}
# As in the base image's own configuration; its user may only write to `/tmp`.
NGINX_CONF = """
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log off;
    sendfile on;
    client_body_temp_path /tmp/client;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    include /etc/nginx/conf.d/*.conf;
}
"""


def stand_in(root: Path) -> Path:
    """A file system with nginx, and nothing else."""
    nginx = shutil.which("nginx")
    assert nginx
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", nginx], check=True, stdout=subprocess.PIPE, text=True).stdout)
    for file in [nginx, *libraries, "/etc/nginx/mime.types"]:
        place = root / ("usr/bin/nginx" if file == nginx else file.lstrip("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    for folder in ("tmp", "var/log/nginx", "var/lib/nginx", "usr/share/nginx/html", "etc/nginx/conf.d"):
        (root / folder).mkdir(parents=True)
        (root / folder).chmod(0o777)
    (root / "etc/nginx/nginx.conf").write_text(NGINX_CONF)
    (root / "etc/passwd").write_text("nginx:x:101:101::/:/sbin/nologin\n")
    (root / "etc/group").write_text("nginx:x:101:\n")
    return root


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Not followed."""


def ask(address: str, **headers: str) -> tuple[int, Message, bytes]:
    """A server's answer to a client that accepts gzip."""
    asked = urllib.request.Request(address, headers={"Accept-Encoding": "gzip", **headers})
    try:
        with urllib.request.build_opener(_Stay).open(asked) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


def check_answers(address: str, site: Path) -> None:
    """Types, sizes and headers."""
    wasm = max(site.glob("app-*/*.wasm"), key=lambda file: file.stat().st_size)
    script = next(site.glob("app-*/*.js"))
    for file in [site / "index.html", site / "mini.html", site / "book/index.html", site / "viewer.js", wasm, script]:
        place = f"/{file.relative_to(site)}"
        # Also for a server in front of this one.
        status, headers, packed = ask(address + place, Via="1.1 proxy")
        assert status == 200 and headers["X-Content-Type-Options"] == "nosniff", place
        assert headers["Content-Encoding"] == "gzip" and headers["Vary"] == "Accept-Encoding", place
        assert gzip.decompress(packed) == file.read_bytes(), place
        is_kept = place.startswith("/app-")
        assert headers["Cache-Control"] == ("public, max-age=31536000, immutable" if is_kept else "no-cache"), place
        is_for_others = is_kept or file.name == "viewer.js"
        assert headers["Access-Control-Allow-Origin"] == ("*" if is_for_others else None), place
        types = {".html": "text/html", ".wasm": "application/wasm", ".js": "application/javascript"}
        assert headers.get_content_type().replace("text/java", "application/java") == types[file.suffix], place
        print(f"{place}: {file.stat().st_size:,} bytes, {len(packed):,} on the way")

    # To where the reader is: the port is another one outside of the image.
    status, headers, _ = ask(address + "/book")
    assert (status, headers["Location"]) == (301, "/book/"), headers
    for place in ("/nothing", f"/{wasm.parent.name}/nothing.wasm", "/book/nothing.html"):
        status, headers, _ = ask(address + place)
        assert status == 404 and headers["Cache-Control"] is None and "/" not in headers["Server"], (place, status)


def check_pages(address: str, chromium: Browser, folder: Path, pictures: Path) -> None:
    """The page, the book, and the element in a page of another server."""
    with opened(chromium, f"{address}/?src=samples/training.pickle.gz") as page:
        page.locator(".stage canvas").first.wait_for(timeout=PATIENCE_S * 1000)
        page.screenshot(path=pictures / "image-page.png")
    with opened(chromium, f"{address}/book/") as page:
        page.locator("main h1").first.wait_for(timeout=PATIENCE_S * 1000)
    element = f'<vramscope-viewer src="{address}/samples/training.pickle.gz"></vramscope-viewer>'
    folder.mkdir()
    (folder / "index.html").write_text(f'<!doctype html><script type="module" src="{address}/viewer.js"></script>{element}')
    with files_of(folder) as other, opened(chromium, other + "/") as page:
        frame = page.locator("vramscope-viewer iframe").content_frame
        frame.locator(".stage canvas").first.wait_for(timeout=PATIENCE_S * 1000)
        page.screenshot(path=pictures / "image-element.png")


def main() -> None:
    """Runs the test."""
    pictures, context = Path(sys.argv[1]), Path(sys.argv[-1])
    os.environ["PATH"] += ":/usr/sbin"
    missing = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    assert not missing, f"apt-get install {' '.join(missing)} (Debian's names)"
    with tempfile.TemporaryDirectory() as folder:
        places = [f"--root={folder}/images", f"--runroot={folder}/run", "--storage-driver=vfs"]

        def buildah(*arguments: object) -> str:
            said = subprocess.run(["buildah", *places, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)
            return said.stdout.strip()

        base = re.findall(r"^FROM (\S+)", (context / "Containerfile").read_text(), re.MULTILINE)[0]
        scratch = buildah("from", "scratch")
        buildah("copy", "--quiet", scratch, stand_in(Path(folder, "base")), "/")
        buildah("config", "--user=101", scratch)
        buildah("commit", "--quiet", scratch, base)
        buildah("build", "--quiet", "--pull-never", "--isolation=chroot", "--tag=vramscope", context)
        container = buildah("from", "--pull-never", "vramscope")
        # One process, which ends with buildah.
        nginx = ["nginx", "-g", "daemon off; master_process off;"]
        run = ["buildah", *places, "run", "--isolation=chroot", container, "--", *nginx]
        with served(run, PORT, "/", folder) as address, browser() as chromium:
            check_answers(address, context / "site")
            check_pages(address, chromium, Path(folder, "docs"), pictures)
    print("the image serves the site")


if __name__ == "__main__":
    main()
