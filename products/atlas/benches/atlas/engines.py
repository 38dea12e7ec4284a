"""Answers {"engine", "sql"} on each line with {"seconds", "busy"}: DuckDB and ClickHouse for the benchmark.

    engines.py PARQUET-FOLDER TABLE-FILE
"""

import json
import os
import sys
import time
from importlib.metadata import version

import chdb
import duckdb

parquet, table = sys.argv[1:]
db = duckdb.connect(table)
db.execute("SET TimeZone = 'UTC'; SET threads = 2; SET memory_limit = '2GB'")
begin = time.perf_counter()
db.execute(f"CREATE TABLE observations AS SELECT * FROM read_parquet('{parquet}/observations-*.parquet')")
db.execute("CHECKPOINT")
print(json.dumps({
    "seconds": time.perf_counter() - begin,
    "octets": os.path.getsize(table),
    "duckdb": version("duckdb"),
    "chdb": version("chdb"),
}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    begin, busy = time.perf_counter(), time.process_time()
    if asked["engine"] == "duckdb":
        db.execute(asked["sql"]).fetchall()
    else:
        str(chdb.query(asked["sql"] + " SETTINGS max_threads = 2", "JSONCompact"))
    took = {"seconds": time.perf_counter() - begin, "busy": time.process_time() - busy}
    print(json.dumps(took), flush=True)
