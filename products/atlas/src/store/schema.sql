-- The tables of an atlas. Times are numbers, UTC: `hour` and `day` since 1970, `month` since the
-- year 0 (year * 12 + month - 1). `status` 0: live, 1: stale, 2: frozen, 3: odd (see
-- src/snapshot.rs). A number is `counted` unless it is odd, or another counts the same nodes: see
-- src/store/counted.rs.

-- Who was ever in the directory.
CREATE TABLE communities (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  -- Of the latest snapshot that has it.
  profile INTEGER REFERENCES profiles (id),
  first_hour INTEGER,
  last_hour INTEGER
) STRICT;

-- What they said of themselves; each combination once.
CREATE TABLE profiles (
  id INTEGER PRIMARY KEY,
  -- Of all that follows.
  digest BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  metacommunity TEXT,
  city TEXT,
  country TEXT,
  latitude REAL,
  longitude REAL,
  api TEXT,
  url TEXT
) STRICT;

CREATE TABLE profile_routing (
  profile INTEGER NOT NULL REFERENCES profiles (id),
  protocol TEXT NOT NULL,
  PRIMARY KEY (profile, protocol)
) STRICT, WITHOUT ROWID;

-- The reports, hour by hour.
CREATE TABLE observations (
  hour INTEGER NOT NULL,
  community INTEGER NOT NULL REFERENCES communities (id),
  nodes INTEGER,
  status INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  profile INTEGER NOT NULL REFERENCES profiles (id),
  -- Seconds since 1970.
  fetched INTEGER NOT NULL,
  PRIMARY KEY (hour, community)
) STRICT, WITHOUT ROWID;

-- Sums of observations with a number that is not odd. Mean: nodes / hours.
CREATE TABLE days (
  day INTEGER NOT NULL,
  community INTEGER NOT NULL,
  hours INTEGER NOT NULL,
  nodes INTEGER NOT NULL,
  least INTEGER,
  most INTEGER,
  -- Of `nodes`, those that were counted, by status.
  live INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  -- Hours in which it was in the directory, with a number or without; and those with an odd one.
  listed INTEGER NOT NULL,
  odd INTEGER NOT NULL,
  -- The last of the day; where there were more, `day_profiles` has each.
  profile INTEGER NOT NULL,
  PRIMARY KEY (day, community)
) STRICT, WITHOUT ROWID;
CREATE INDEX days_of ON days (community, day);

-- Days within which what a community says of itself changed: what `days` has of it, by profile.
CREATE TABLE day_profiles (
  day INTEGER NOT NULL,
  community INTEGER NOT NULL,
  profile INTEGER NOT NULL,
  live INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  PRIMARY KEY (day, community, profile)
) STRICT, WITHOUT ROWID;

CREATE TABLE months (
  month INTEGER NOT NULL,
  community INTEGER NOT NULL,
  hours INTEGER NOT NULL,
  nodes INTEGER NOT NULL,
  least INTEGER,
  most INTEGER,
  live INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  odd INTEGER NOT NULL,
  profile INTEGER NOT NULL,
  PRIMARY KEY (month, community)
) STRICT, WITHOUT ROWID;
CREATE INDEX months_of ON months (community, month);

-- The same of months.
CREATE TABLE month_profiles (
  month INTEGER NOT NULL,
  community INTEGER NOT NULL,
  profile INTEGER NOT NULL,
  live INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  PRIMARY KEY (month, community, profile)
) STRICT, WITHOUT ROWID;

-- The directory as a whole. `hours`: with a snapshot. Mean of nodes: (live + stale + frozen) /
-- hours; of communities: listed / hours.
CREATE TABLE hour_totals (
  hour INTEGER PRIMARY KEY,
  live INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  odd INTEGER NOT NULL
) STRICT;

CREATE TABLE day_totals (
  day INTEGER PRIMARY KEY,
  hours INTEGER NOT NULL,
  live INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  odd INTEGER NOT NULL
) STRICT;

CREATE TABLE month_totals (
  month INTEGER PRIMARY KEY,
  hours INTEGER NOT NULL,
  live INTEGER NOT NULL,
  stale INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  odd INTEGER NOT NULL
) STRICT;

-- Which files were read, by their content, so that none is read twice.
CREATE TABLE files (
  digest BLOB PRIMARY KEY,
  name TEXT NOT NULL,
  -- NULL: nothing in it could be read.
  hour INTEGER,
  entries INTEGER NOT NULL,
  -- When it was read: seconds since 1970.
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was not as it should be, and how it was read all the same.
CREATE TABLE ledger (
  id INTEGER PRIMARY KEY,
  file TEXT NOT NULL,
  hour INTEGER,
  key TEXT,
  what TEXT NOT NULL,
  read_as TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX ledger_once ON ledger (file, ifnull(key, ''), what);

-- One row. Each commit changes it.
CREATE TABLE meta (
  version INTEGER NOT NULL
) STRICT;
