"""What each month is by DuckDB, from the raw files: the independent word of engines.rs.

    engines.py growth FOLDER...      months as JSON: hours, live, stale, frozen, listed, odd, nodes
    engines.py said FOLDER...        by what communities say of themselves, as JSON: chart, month or
                                     day, key, nodes, communities
    engines.py duckdb FOLDER         sums of exported Parquet files as JSON, by DuckDB
    engines.py clickhouse FOLDER     the same, by ClickHouse
    engines.py documented FOLDER     what the queries of the documentation answer, as JSON

The rules are written anew here, in SQL, and share no line with the program: see
docs/reference/atlas-data.md and docs/reference/atlas-store.md.
"""

import datetime
import decimal
import json
import os
import re
import sys

READ = """
SET TimeZone = 'UTC';

-- A name has the time of a clock in Berlin.
CREATE TABLE files AS
SELECT filename AS file, content,
    timezone('Europe/Berlin', strptime(
        regexp_extract(filename, '(\\d{8}-\\d\\d\\.\\d\\d\\.\\d\\d)-ffSummarizedDir', 1),
        '%Y%m%d-%H.%M.%S')) AS named
FROM read_text($globs)
WHERE json_valid(content);

CREATE TABLE raw AS
SELECT file, named, key,
    json_extract_string(value, '$.name') AS name,
    json_extract_string(value, '$.metacommunity') AS above,
    TRY_CAST(json_extract_string(value, '$.state.nodes') AS BIGINT) AS nodes,
    TRY_CAST(json_extract_string(value, '$.mtime') AS TIMESTAMPTZ) AS fetched,
    coalesce(
        TRY_CAST(json_extract_string(value, '$.state.lastchange') AS TIMESTAMPTZ),
        to_timestamp(TRY_CAST(json_extract_string(value, '$.state.lastchange') AS BIGINT))
    ) AS changed,
    json_extract(value, '$.etime') IS NOT NULL OR json_extract(value, '$.error') IS NOT NULL
        AS failed,
    json_extract(value, '$.techDetails.routing') AS routing,
    json_extract_string(value, '$.location.country') AS country,
    json_extract_string(value, '$.api') AS api
FROM files, json_each(content);

-- Of when a file is: its latest entry, but where that is a day off.
CREATE TABLE times AS
SELECT file,
    CASE WHEN abs(epoch(latest) - epoch(named)) > 86400 THEN named ELSE coalesce(latest, named) END
        AS taken
FROM (SELECT file, any_value(named) AS named, max(fetched) AS latest FROM raw GROUP BY file);

CREATE TABLE entries AS
SELECT date_trunc('hour', taken) AS hour, key, nodes, above, routing, country, api,
    coalesce(nullif(trim(above), ''), nullif(trim(name), ''), key) AS whole,
    coalesce(fetched, taken) AS fetched, failed,
    CASE WHEN nodes BETWEEN 0 AND 100000 THEN nodes END AS believed,
    -- Names as they are compared; who has none is alone with its key.
    CASE WHEN trim(name, E' \\t\\n') = '' OR name IS NULL THEN 'key ' || key
        ELSE 'name ' || lower(trim(name, E' \\t\\n')) END AS name,
    'name ' || lower(trim(above, E' \\t\\n')) AS parent,
    epoch(taken) - least(epoch(coalesce(fetched, taken)),
        CASE WHEN changed <= taken THEN epoch(changed) ELSE epoch(taken) END) AS age
FROM raw JOIN times USING (file)
QUALIFY row_number() OVER (
    PARTITION BY date_trunc('hour', taken), key ORDER BY fetched DESC) = 1;

CREATE TABLE told AS
SELECT hour, key, name, parent, believed,
    CASE WHEN nodes IS NOT NULL AND believed IS NULL THEN 'odd'
        WHEN age > 90 * 86400 THEN 'frozen'
        WHEN age > 48 * 3600 OR failed THEN 'stale'
        ELSE 'live' END AS status
FROM entries;

-- One of each name and hour, and the one that it is part of.
CREATE TABLE communities AS
WITH best AS (
    SELECT * FROM told
    QUALIFY row_number() OVER (
        PARTITION BY hour, name ORDER BY coalesce(believed, -1) DESC, key) = 1)
SELECT b.hour, b.key, b.name, b.status, b.believed AS own, p.name AS parent
FROM best b LEFT JOIN best p ON p.hour = b.hour AND p.name = b.parent AND p.name <> b.name;

CREATE TABLE levels AS
WITH RECURSIVE down AS (
    SELECT hour, name, 0 AS level FROM communities WHERE parent IS NULL
    UNION ALL
    SELECT c.hour, c.name, level + 1
    FROM down d JOIN communities c ON c.hour = d.hour AND c.parent = d.name)
SELECT * FROM down;

CREATE TABLE worth (hour TIMESTAMPTZ, name VARCHAR, value BIGINT, whole BOOLEAN);
"""

# From the lowest level to the highest: what a community is worth, with all that is part of it.
RISE = """
INSERT INTO worth
SELECT c.hour, c.name,
    CASE WHEN parts IS NULL OR own > parts THEN own ELSE parts END,
    own IS NOT NULL AND (parts IS NULL OR own > parts)
FROM communities c
JOIN levels l ON l.hour = c.hour AND l.name = c.name AND l.level = $level
LEFT JOIN (
    SELECT p.hour, p.parent AS name, sum(w.value) AS parts
    FROM communities p JOIN worth w ON w.hour = p.hour AND w.name = p.name
    WHERE p.parent IS NOT NULL GROUP BY ALL
) s ON s.hour = c.hour AND s.name = c.name;
"""

# Those that count, from the highest level to the lowest.
COUNTS = """
CREATE TABLE counts AS
WITH RECURSIVE down AS (
    SELECT c.hour, c.name, w.whole FROM communities c JOIN worth w USING (hour, name)
    WHERE c.parent IS NULL
    UNION ALL
    SELECT c.hour, c.name, w.whole
    FROM down u JOIN communities c ON c.hour = u.hour AND c.parent = u.name
    JOIN worth w ON w.hour = c.hour AND w.name = c.name
    WHERE NOT u.whole)
SELECT hour, key, name, status, own FROM down JOIN communities USING (hour, name) WHERE whole
"""

GROWTH = """
WITH nodes AS (
    SELECT hour, coalesce(sum(own) FILTER (WHERE status = 'live'), 0) AS live,
        coalesce(sum(own) FILTER (WHERE status = 'stale'), 0) AS stale,
        coalesce(sum(own) FILTER (WHERE status = 'frozen'), 0) AS frozen
    FROM counts GROUP BY hour
), roots AS (
    SELECT hour, sum(value) AS value FROM communities JOIN worth USING (hour, name)
    WHERE parent IS NULL GROUP BY hour
), listed AS (
    SELECT hour, count(*) AS listed, count(*) FILTER (WHERE status = 'odd') AS odd
    FROM told GROUP BY hour
)
SELECT strftime(hour, '%Y-%m') AS month, count(*) AS hours,
    sum(coalesce(live, 0)), sum(coalesce(stale, 0)), sum(coalesce(frozen, 0)),
    sum(listed), sum(odd), sum(coalesce(value, 0))
FROM listed LEFT JOIN nodes USING (hour) LEFT JOIN roots USING (hour)
GROUP BY month ORDER BY month
"""

# How the data write protocols, in small letters, and what they are called.
CALLED = """
CREATE TABLE called (written VARCHAR, protocol VARCHAR);
INSERT INTO called VALUES
    ('802.11s', '802.11s'), ('babel', 'Babel'), ('batman-adv', 'batman-adv'),
    ('batman', 'batman-adv'), ('b.a.t.m.a.n advanced', 'batman-adv'), ('olsr', 'OLSR'), ('olsrv2', 'OLSRv2')
"""

SAID = """
WITH written AS (
    SELECT hour, key, unnest(CASE json_type(routing)
        WHEN 'ARRAY' THEN from_json(routing, '["VARCHAR"]')
        WHEN 'VARCHAR' THEN string_split_regex(json_extract_string(routing, '$'), '[,;/+&|]')
        END) AS written
    FROM entries
), told AS (
    SELECT DISTINCT 'routing' AS chart, hour, key, coalesce(protocol, trim(w.written)) AS said
    FROM written w LEFT JOIN called c ON c.written = lower(trim(w.written))
    UNION ALL SELECT 'countries', hour, key, upper(trim(country)) FROM entries
    UNION ALL SELECT 'versions', hour, key, trim(api) FROM entries
    UNION ALL SELECT 'top', hour, key, lower(whole) FROM entries
), keys AS (
    SELECT chart, hour, key, coalesce(said, 'unknown') AS said
    FROM (SELECT unnest(['routing', 'countries', 'versions', 'top']) AS chart, hour, key FROM entries)
    LEFT JOIN (FROM told WHERE said <> '') USING (chart, hour, key)
), points AS (
    SELECT hour, unnest([strftime(hour, '%Y-%m'), strftime(hour, '%Y-%m-%d')]) AS point
    FROM (SELECT DISTINCT hour FROM entries)
), hours AS (
    SELECT point, count(*) AS hours FROM points GROUP BY point
)
SELECT chart, point, said, sum(coalesce(own, 0)), count(*), any_value(hours)
FROM keys JOIN points USING (hour) JOIN hours USING (point) LEFT JOIN counts USING (hour, key)
GROUP BY chart, point, said ORDER BY chart, point, said
"""


def counted(folders):
    """A database in which each entry is as it counts."""
    import duckdb

    db = duckdb.connect()
    globs = [f"{folder}/*.json" for folder in folders]
    statements = READ.replace("$globs", repr(globs))
    db.execute(statements)
    circles = "SELECT count(*) FROM communities ANTI JOIN levels USING (hour, name)"
    if db.execute(circles).fetchone()[0]:
        sys.exit("engines: communities are part of each other in a circle; these rules have no word on that")
    (deepest,) = db.execute("SELECT coalesce(max(level), 0) FROM levels").fetchone()
    for level in range(deepest, -1, -1):
        db.execute(RISE, {"level": level})
    db.execute(COUNTS)
    return db


def mean(whole, hours):
    """Rounded half up."""
    return (2 * int(whole) + hours) // (2 * hours)


def growth(folders):
    rows = counted(folders).execute(GROWTH).fetchall()
    out = []
    for month, hours, live, stale, frozen, listed, odd, value in rows:
        assert live + stale + frozen == value, month
        sums = [int(live), int(stale), int(frozen), int(listed), int(odd)]
        out.append([month, hours, *sums, mean(value, hours)])
    return out


def said(folders):
    db = counted(folders)
    db.execute(CALLED)
    rows = db.execute(SAID).fetchall()
    return [[*of, mean(nodes, hours), mean(listed, hours)] for *of, nodes, listed, hours in rows]


# The same in both languages. FILES stands for how an engine names a file.
SUMS = [
    """SELECT year(t) * 12 + month(t) - 1 AS month, status, count(*), sum(coalesce(nodes, 0)),
        sum(CASE WHEN counted THEN nodes ELSE 0 END), count(nodes)
    FROM FILES(observations-*) GROUP BY month, status ORDER BY month, status""",
    """SELECT key, min(t), max(t), count(*), max(profile), max(fetched)
    FROM FILES(observations-*) GROUP BY key ORDER BY key""",
    "SELECT key, first, last, profile, name FROM FILES(communities) ORDER BY key",
    """SELECT profile, length(routing), CAST(floor(coalesce(latitude, 0) * 1000000) AS BIGINT), coalesce(country, '-')
    FROM FILES(profiles) ORDER BY profile""",
    """SELECT year(day) * 12 + month(day) - 1 AS month, count(*), sum(hours), sum(nodes),
        sum(coalesce(least, 0)), sum(coalesce(most, 0)), sum(live), sum(stale), sum(frozen),
        sum(listed), sum(odd), max(profile)
    FROM FILES(days) GROUP BY month ORDER BY month""",
    """SELECT year(day) * 12 + month(day) - 1 AS month, count(*), sum(hours), sum(nodes),
        sum(coalesce(least, 0)), sum(coalesce(most, 0)), sum(live), sum(stale), sum(frozen),
        sum(listed), sum(odd), max(profile)
    FROM FILES(months) GROUP BY month ORDER BY month""",
    """SELECT year(t) * 12 + month(t) - 1 AS month, count(*), sum(live), sum(stale), sum(frozen),
        sum(listed), sum(odd)
    FROM FILES(hours) GROUP BY month ORDER BY month""",
]


def plain(cell):
    """Times as seconds, whole numbers as such."""
    if isinstance(cell, datetime.datetime):
        return int(cell.timestamp())
    if isinstance(cell, decimal.Decimal):
        return int(cell)
    return cell


def asked(query, reader, folder):
    """The query for an engine whose function `reader` opens files."""
    return re.sub(r"FILES\((.*?)\)", rf"{reader}('{folder}/\1.parquet')", query)


def by_duckdb(folder):
    import duckdb

    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    for query in SUMS:
        yield db.execute(asked(query, "read_parquet", folder)).fetchall()


def by_clickhouse(folder):
    import chdb

    # Numbers as numbers, times as seconds.
    settings = "output_format_json_quote_64bit_integers = 0, date_time_output_format = 'unix_timestamp'"
    for query in SUMS:
        query = f"{asked(query, 'file', folder)} SETTINGS {settings}"
        rows = json.loads(str(chdb.query(query, "JSONCompact")))["data"]
        # DateTime64 comes as text with milliseconds.
        yield [[int(float(cell)) if is_time(cell) else cell for cell in row] for row in rows]


def is_time(cell):
    return isinstance(cell, str) and re.fullmatch(r"\d+\.\d{3}", cell) is not None


def sums(rows_of_each):
    return [[[plain(cell) for cell in row] for row in rows] for rows in rows_of_each]


def documented(folder):
    """What the queries of docs/reference/atlas-store.md answer: DuckDB's, and the last one, ClickHouse's."""
    import chdb
    import duckdb

    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/reference/atlas-store.md")
    with open(docs, encoding="utf-8") as text:
        queries = re.findall(r"```sql\n(.*?)```", text.read(), re.DOTALL)
    os.chdir(folder)
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    *for_duckdb, for_clickhouse = [query.strip().rstrip(";") for query in queries]
    for query in for_duckdb:
        yield [[str(first)[:7], int(second)] for first, second in db.execute(query).fetchall()]
    rows = json.loads(str(chdb.query(for_clickhouse, "JSONCompact")))["data"]
    yield [[first[:7], int(second)] for first, second in rows]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["growth", *folders] if folders:
            print(json.dumps(growth(folders)))
        case ["said", *folders] if folders:
            print(json.dumps(said(folders)))
        case ["duckdb", folder]:
            print(json.dumps(sums(by_duckdb(folder))))
        case ["clickhouse", folder]:
            print(json.dumps(sums(by_clickhouse(folder))))
        case ["documented", folder]:
            print(json.dumps(list(documented(folder))))
        case _:
            sys.exit(__doc__)
