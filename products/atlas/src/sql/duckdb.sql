CREATE VIEW snapshots AS
  SELECT o.t::TIMESTAMP AS t, o.key, p.name, o.nodes, o.status, o.counted::INTEGER AS counted
  FROM read_parquet('{folder}/observations-*.parquet') o
  JOIN read_parquet('{folder}/profiles.parquet') p USING (profile);
CREATE VIEW hours AS
  SELECT t::TIMESTAMP AS t, live, stale, frozen, listed, odd
  FROM read_parquet('{folder}/hours.parquet');
CREATE VIEW days AS SELECT * FROM read_parquet('{folder}/days.parquet');
CREATE VIEW months AS SELECT * FROM read_parquet('{folder}/months.parquet');
CREATE VIEW growth_hours AS
  SELECT t, live + stale + frozen AS nodes, live, stale, frozen, listed AS communities FROM hours;
CREATE VIEW day_sums AS
  SELECT t::DATE AS day, count(*) AS hours, sum(live) AS live, sum(stale) AS stale,
    sum(frozen) AS frozen, sum(listed) AS listed
  FROM hours GROUP BY ALL;
CREATE VIEW month_sums AS
  SELECT date_trunc('month', t)::DATE AS day, count(*) AS hours, sum(live) AS live,
    sum(stale) AS stale, sum(frozen) AS frozen, sum(listed) AS listed
  FROM hours GROUP BY ALL;
CREATE VIEW growth_days AS
  SELECT day AS date, (2 * (live + stale + frozen) + hours) // (2 * hours) AS nodes,
    (2 * live + hours) // (2 * hours) AS live, (2 * stale + hours) // (2 * hours) AS stale,
    (2 * frozen + hours) // (2 * hours) AS frozen, (2 * listed + hours) // (2 * hours) AS communities
  FROM day_sums;
CREATE VIEW growth AS
  SELECT strftime(day, '%Y-%m') AS month,
    (2 * (live + stale + frozen) + hours) // (2 * hours) AS nodes,
    (2 * live + hours) // (2 * hours) AS live, (2 * stale + hours) // (2 * hours) AS stale,
    (2 * frozen + hours) // (2 * hours) AS frozen, (2 * listed + hours) // (2 * hours) AS communities
  FROM month_sums;
CREATE VIEW community_days AS
  SELECT m.day AS date, m.key, p.name,
    (2 * m.nodes + m.hours) // nullif(2 * m.hours, 0) AS nodes, m.least, m.most,
    (2 * (m.live + m.stale + m.frozen) + t.hours) // (2 * t.hours) AS counted, m.listed, m.odd
  FROM days m JOIN day_sums t USING (day)
  JOIN read_parquet('{folder}/profiles.parquet') p USING (profile);
CREATE VIEW community_months AS
  SELECT strftime(m.day, '%Y-%m') AS month, m.key, p.name,
    (2 * m.nodes + m.hours) // nullif(2 * m.hours, 0) AS nodes, m.least, m.most,
    (2 * (m.live + m.stale + m.frozen) + t.hours) // (2 * t.hours) AS counted, m.listed, m.odd
  FROM months m JOIN month_sums t USING (day)
  JOIN read_parquet('{folder}/profiles.parquet') p USING (profile);
CREATE VIEW directory AS
  SELECT key, name, metacommunity, city, country, latitude, longitude, api, url,
    first::TIMESTAMP AS first, last::TIMESTAMP AS last
  FROM read_parquet('{folder}/communities.parquet');
CREATE VIEW protocols AS
  SELECT c.key, unnest(p.routing) AS protocol
  FROM read_parquet('{folder}/communities.parquet') c
  JOIN read_parquet('{folder}/profiles.parquet') p USING (profile);
CREATE MACRO percentile(x, p) AS quantile_cont(x, p / 100.0);
CREATE MACRO regexp(pattern, s) AS regexp_matches(s, pattern);
