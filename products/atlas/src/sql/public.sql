-- What the public copy has beside the tables of the store: times as texts, and views that say
-- things as people do. Columns stand in lines of their own: the page about the tables is made of
-- these comments (src/sql/schema.rs).

-- The hours with a snapshot, as number and as text.
CREATE TABLE hours (
  -- Since 1970.
  hour INTEGER PRIMARY KEY,
  -- "2019-10-17T22:00:00Z"
  t TEXT NOT NULL UNIQUE
) STRICT;

-- The days with a snapshot, as number and as text.
CREATE TABLE dates (
  -- Since 1970.
  day INTEGER PRIMARY KEY,
  -- "2019-10-17"
  date TEXT NOT NULL UNIQUE
) STRICT;

INSERT INTO hours SELECT hour, strftime('%Y-%m-%dT%H:00:00Z', hour * 3600, 'unixepoch')
FROM hour_totals ORDER BY hour;
INSERT INTO dates SELECT day, date(day * 86400, 'unixepoch') FROM day_totals ORDER BY day;

-- What the directory said, hour by hour. Name a span of time, for the whole is long:
-- WHERE t >= '2019-10' AND t < '2019-11'.
CREATE VIEW snapshots (
  -- "2019-10-17T22:00:00Z"
  t,
  -- Names the community for ever.
  key,
  -- As it was then.
  name,
  -- As told, however absurd; NULL: not told.
  nodes,
  -- 'live', 'stale' (older than two days), 'frozen' (90 days), 'odd' (negative or absurd).
  status,
  -- 1: in the sum of all; 0: odd, or counted with another entry.
  counted
) AS SELECT h.t, c.key, p.name, o.nodes,
  CASE o.status WHEN 0 THEN 'live' WHEN 1 THEN 'stale' WHEN 2 THEN 'frozen' ELSE 'odd' END,
  o.counted
FROM hours h
JOIN observations o ON o.hour = h.hour
JOIN communities c ON c.id = o.community
JOIN profiles p ON p.id = o.profile;

-- All communities together, by month: means over the hours with a snapshot.
CREATE VIEW growth (
  -- "2019-10"
  month,
  -- Each counted once.
  nodes,
  -- Of these, by how old the numbers were.
  live,
  stale,
  frozen,
  -- Entries in the directory.
  communities
) AS SELECT printf('%04d-%02d', month / 12, month % 12 + 1),
  (2 * (live + stale + frozen) + hours) / (2 * hours),
  (2 * live + hours) / (2 * hours),
  (2 * stale + hours) / (2 * hours),
  (2 * frozen + hours) / (2 * hours),
  (2 * listed + hours) / (2 * hours)
FROM month_totals;

-- The same by day.
CREATE VIEW growth_days (
  -- "2019-10-17"
  date,
  nodes,
  live,
  stale,
  frozen,
  communities
) AS SELECT d.date,
  (2 * (live + stale + frozen) + hours) / (2 * hours),
  (2 * live + hours) / (2 * hours),
  (2 * stale + hours) / (2 * hours),
  (2 * frozen + hours) / (2 * hours),
  (2 * listed + hours) / (2 * hours)
FROM dates d JOIN day_totals USING (day);

-- The same by hour.
CREATE VIEW growth_hours (
  -- "2019-10-17T22:00:00Z"
  t,
  nodes,
  live,
  stale,
  frozen,
  communities
) AS SELECT h.t, live + stale + frozen, live, stale, frozen, listed
FROM hours h JOIN hour_totals USING (hour);

-- Each community, by month.
CREATE VIEW community_months (
  -- "2019-10"
  month,
  key,
  -- As it was at the month's end.
  name,
  -- Mean over the hours with a number that is not odd; NULL: there was none.
  nodes,
  least,
  most,
  -- What it adds to `growth`, where each is counted once.
  counted,
  -- Hours in which it was in the directory; and those with an odd number.
  listed,
  odd
) AS SELECT printf('%04d-%02d', m.month / 12, m.month % 12 + 1), c.key, p.name,
  (2 * m.nodes + m.hours) / nullif(2 * m.hours, 0), m.least, m.most,
  (2 * (m.live + m.stale + m.frozen) + t.hours) / (2 * t.hours), m.listed, m.odd
FROM months m
JOIN month_totals t ON t.month = m.month
JOIN communities c ON c.id = m.community
JOIN profiles p ON p.id = m.profile;

-- Each community, by day.
CREATE VIEW community_days (
  -- "2019-10-17"
  date,
  key,
  name,
  nodes,
  least,
  most,
  counted,
  listed,
  odd
) AS SELECT d.date, c.key, p.name,
  (2 * m.nodes + m.hours) / nullif(2 * m.hours, 0), m.least, m.most,
  (2 * (m.live + m.stale + m.frozen) + t.hours) / (2 * t.hours), m.listed, m.odd
FROM dates d
JOIN days m ON m.day = d.day
JOIN day_totals t ON t.day = d.day
JOIN communities c ON c.id = m.community
JOIN profiles p ON p.id = m.profile;

-- Who was ever in the directory, with what they said of themselves last.
CREATE VIEW directory (
  key,
  name,
  -- The community that it is part of, by name.
  metacommunity,
  city,
  country,
  -- Degrees, WGS 84.
  latitude,
  longitude,
  -- Version of the format.
  api,
  url,
  -- The first and the last hour in which it was there.
  first,
  last
) AS SELECT c.key, p.name, p.metacommunity, p.city, p.country, p.latitude, p.longitude, p.api,
  p.url,
  strftime('%Y-%m-%dT%H:00:00Z', c.first_hour * 3600, 'unixepoch'),
  strftime('%Y-%m-%dT%H:00:00Z', c.last_hour * 3600, 'unixepoch')
FROM communities c LEFT JOIN profiles p ON p.id = c.profile;

-- Which routing protocols each community named last.
CREATE VIEW protocols (
  key,
  protocol
) AS SELECT c.key, r.protocol FROM communities c JOIN profile_routing r ON r.profile = c.profile;

-- What was not as it should be in the files, and how it was read all the same.
CREATE VIEW remarks (
  file,
  t,
  -- NULL: the file as a whole.
  key,
  what,
  read_as
) AS SELECT file, strftime('%Y-%m-%dT%H:00:00Z', hour * 3600, 'unixepoch'), key, what, read_as
FROM ledger;
