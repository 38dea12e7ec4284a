//! Queries to begin with.

use crate::text::Language;

/// A query with a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    english: &'static str,
    german: &'static str,
    /// Query for SQLite.
    pub sql: &'static str,
}

impl Example {
    /// Returns the question in words.
    pub fn title(&self, language: Language) -> &'static str {
        language.of(self.english, self.german)
    }
}

/// Examples on the page of queries.
pub const EXAMPLES: &[Example] = &[
    Example {
        english: "All nodes, month by month",
        german: "Alle Knoten, Monat für Monat",
        sql: "SELECT month, nodes, live, stale, frozen FROM growth ORDER BY month",
    },
    Example {
        english: "The ten largest in the latest month",
        german: "Die zehn größten im letzten Monat",
        sql: "SELECT name, counted AS nodes, key
FROM community_months
WHERE month = (SELECT max(month) FROM growth)
ORDER BY counted DESC, key
LIMIT 10",
    },
    Example {
        english: "One community, day by day",
        german: "Eine Community, Tag für Tag",
        sql: "SELECT date, nodes, least, most
FROM community_days
WHERE key = (SELECT key FROM community_months ORDER BY counted DESC, key LIMIT 1)
ORDER BY date",
    },
    Example {
        english: "All of October 2019, hour by hour",
        german: "Der ganze Oktober 2019, Stunde für Stunde",
        sql: "SELECT t, sum(nodes) AS nodes, count(*) AS communities
FROM snapshots
WHERE t >= '2019-10' AND t < '2019-11' AND counted
GROUP BY t
ORDER BY t",
    },
    Example {
        english: "Who grew most within a year",
        german: "Wer in einem Jahr am meisten wuchs",
        sql: "WITH latest AS (SELECT max(month) AS month FROM growth),
before AS (SELECT max(month) AS month FROM growth
           WHERE month <= (SELECT substr(month, 1, 4) - 1 || substr(month, 5) FROM latest))
SELECT now.name, now.nodes - coalesce(old.nodes, 0) AS more, now.nodes, old.nodes AS nodes_before
FROM community_months now
LEFT JOIN community_months old
  ON old.key = now.key AND old.month = (SELECT month FROM before)
WHERE now.month = (SELECT month FROM latest)
ORDER BY more DESC, now.key
LIMIT 20",
    },
    Example {
        english: "How old the numbers were: per cent of nodes",
        german: "Wie alt die Zahlen waren: Prozent der Knoten",
        sql: "SELECT month, round(100.0 * live / nodes, 1) AS live,
  round(100.0 * stale / nodes, 1) AS stale, round(100.0 * frozen / nodes, 1) AS frozen
FROM growth
WHERE nodes > 0
ORDER BY month",
    },
    Example {
        english: "Routing protocols by communities and nodes",
        german: "Routing-Protokolle nach Gemeinschaften und Knoten",
        sql: "SELECT p.protocol, sum(m.counted) AS nodes, count(*) AS communities
FROM protocols p
JOIN community_months m ON m.key = p.key AND m.month = (SELECT max(month) FROM growth)
GROUP BY p.protocol
ORDER BY nodes DESC",
    },
    Example {
        english: "New and gone, year by year",
        german: "Neu und verschwunden, Jahr für Jahr",
        sql: "SELECT year, sum(new) AS new, sum(gone) AS gone
FROM (SELECT substr(first, 1, 4) AS year, 1 AS new, 0 AS gone FROM directory
      UNION ALL
      SELECT substr(last, 1, 4), 0, 1 FROM directory
      WHERE last < (SELECT max(t) FROM hours))
GROUP BY year
ORDER BY year",
    },
    Example {
        english: "Implausible numbers",
        german: "Zahlen, die niemand glaubt",
        sql: "SELECT name, min(least) AS least, max(most) AS most, sum(odd) AS odd_hours, key
FROM community_months
WHERE odd > 0
GROUP BY key
ORDER BY odd_hours DESC
LIMIT 100",
    },
    Example {
        english: "What was wrong in the files most often",
        german: "Was in den Dateien am häufigsten falsch war",
        sql: "SELECT what, read_as, count(*) AS files
FROM remarks
GROUP BY what, read_as
ORDER BY files DESC
LIMIT 50",
    },
];
