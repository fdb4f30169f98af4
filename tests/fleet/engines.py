"""The engines that answer SQL about a dataset. Each returns all rows as lists of plain values, for comparison.

`ours` is `vramscope sql`. The others read the same files with no code of ours.
"""

import datetime
import decimal
import json
import subprocess


def plain(value):
    """A value without the type of its engine."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat() + "Z"
    if isinstance(value, decimal.Decimal):
        return int(value) if value == int(value) else float(value)
    return value


def tables(dataset):
    """The names of a dataset's tables: the folders that have folders of ranks with Parquet files."""
    return sorted({file.parts[-3] for file in dataset.glob("*/rank=*/*.parquet")})


class Ours:
    """`vramscope sql`."""

    def __init__(self, program, dataset):
        self.program, self.dataset = program, dataset

    def rows(self, sql):
        """All rows, as dictionaries."""
        command = [self.program, "sql", "-", str(self.dataset), "--json"]
        done = subprocess.run(command, input=sql, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["returned"] == answer["total"] and not answer["truncated"]
        return answer["rows"]

    def ask(self, sql):
        return [list(row.values()) for row in self.rows(sql)]

    def close(self):
        pass


class DuckDb:
    def __init__(self, dataset):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("set timezone = 'UTC'")
        for table in tables(dataset):
            files = f"{dataset}/{table}/rank=*/*.parquet"
            self.connection.execute(
                # A number with leading zeros would be a text.
                f"create view {table} as select * from read_parquet('{files}', hive_types = {{'rank': bigint}})"
            )

    def ask(self, sql):
        return [[plain(value) for value in row] for row in self.connection.execute(sql).fetchall()]

    def close(self):
        self.connection.close()


class Polars:
    def __init__(self, dataset):
        import polars

        self.context = polars.SQLContext()
        for table in tables(dataset):
            files = f"{dataset}/{table}/rank=*/*.parquet"
            self.context.register(table, polars.scan_parquet(files, hive_partitioning=True))

    def ask(self, sql):
        rows = self.context.execute(sql).collect().rows()
        return [[plain(value) for value in row] for row in rows]

    def close(self):
        pass


class Spark:
    def __init__(self, dataset):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("vramscope")
        for key, value in {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        }.items():
            builder = builder.config(key, value)
        self.session = builder.getOrCreate()
        for table in tables(dataset):
            self.session.read.parquet(f"{dataset}/{table}").createOrReplaceTempView(table)

    def ask(self, sql):
        return [[plain(value) for value in row] for row in self.session.sql(sql).collect()]

    def close(self):
        self.session.stop()
