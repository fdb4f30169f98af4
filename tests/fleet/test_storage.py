"""A dataset in storage that speaks S3: a server on this machine, from which Polars reads by way of `object_store`."""

import subprocess
import sys

import pyarrow.fs
import pytest

import cluster
import engines

KEYS = {"access_key": "test", "secret_key": "test", "region": "us-east-1"}


@pytest.fixture
def server(tmp_path):
    port = cluster.free_port()
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    with open(tmp_path / "server.log", "wb") as log:
        started = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    cluster.wait_for(port)
    yield f"127.0.0.1:{port}"
    started.kill()
    started.wait()


class InStorage:
    """Polars, with tables in a bucket."""

    def __init__(self, server, bucket, names):
        import polars

        options = {
            "aws_access_key_id": KEYS["access_key"],
            "aws_secret_access_key": KEYS["secret_key"],
            "aws_region": KEYS["region"],
            "aws_endpoint_url": f"http://{server}",
            "aws_allow_http": "true",
        }
        self.context = polars.SQLContext()
        for name in names:
            files = f"s3://{bucket}/{name}/**/*.parquet"
            scan = polars.scan_parquet(files, hive_partitioning=True, storage_options=options)
            self.context.register(name, scan)

    ask = engines.Polars.ask


def test_polars_reads_from_storage(server, program, dataset, questions):
    storage = pyarrow.fs.S3FileSystem(
        endpoint_override=server, scheme="http", allow_bucket_creation=True, **KEYS
    )
    storage.create_dir("runs")
    local = pyarrow.fs.LocalFileSystem()
    pyarrow.fs.copy_files(str(dataset), "runs", source_filesystem=local, destination_filesystem=storage)
    remote = InStorage(server, "runs", engines.tables(dataset))
    ours = engines.Ours(program, dataset)
    for name in ["oom", "leaks"]:
        assert remote.ask(questions[name]) == ours.ask(questions[name]), name
