//! Errors and hints that pages show. Messages of engines about a query are not among them.

pub(super) const PHRASES: &[(&str, &str)] = &[
    // Addresses.
    (
        "the address is longer than {} octets behind `?`",
        "die Adresse ist hinter dem `?` länger als {0} Oktette",
    ),
    (
        "the address is not percent-encoded text: write %XX with two hexadecimal digits, of UTF-8",
        "die Adresse ist kein prozentkodierter Text: %XX mit zwei hexadezimalen Ziffern schreiben, \
         in UTF-8",
    ),
    (
        "the address is not percent-encoded behind the question mark",
        "was hinter dem Fragezeichen steht, ist kein prozentkodierter Text",
    ),
    (
        "`{}` is not a parameter{} (parameters: {})",
        "`{0}` ist kein Parameter{1!} (Parameter: {2})",
    ),
    (
        "`{}` is not a parameter here; use {}",
        "`{0}` wird hier nicht gefragt, wohl aber {1}",
    ),
    (
        "`{}` occurs twice: give it once",
        "`{0}` steht zweimal da: einmal angeben",
    ),
    (
        "`key` has {} keys: give at most {}",
        "`key` hat {0} Schlüssel: höchstens {1} angeben",
    ),
    (
        "`only` has {} keys: give at most {}",
        "`only` hat {0} Schlüssel: höchstens {1} angeben",
    ),
    (
        "`{}` is not a value of `{}`{} (give {})",
        "`{0}` ist kein Wert von `{1}`{2!} (möglich: {3!})",
    ),
    (
        "`{}` is longer than {} octets",
        "`{0}` ist länger als {1} Oktette",
    ),
    (
        "`after` must be a number, as in the link to further lines",
        "`after` ist eine Zahl, wie sie im Link zu weiteren Zeilen steht",
    ),
    (
        "`format` must be html, json or csv",
        "`format` ist html, json oder csv",
    ),
    (
        "`engine` must be sqlite or duckdb",
        "`engine` ist sqlite oder duckdb",
    ),
    ("`q` contains no query", "in `q` steht keine Abfrage"),
    // Charts.
    (
        "`from` ({}) is later than `to`, whose last hour is {}: give the earlier as `from`",
        "`from` ({0}) ist später als `to`, dessen letzte Stunde {1} ist: das Frühere als `from` angeben",
    ),
    (
        "`by={}` would be {} points, and {} are the most: give `by={}`, or a range of at most {} \
         days",
        "`by={0}` wären {1} Punkte, und {2} sind das Höchste: `by={3}` angeben, oder einen Zeitraum \
         von höchstens {4} Tagen",
    ),
    (
        "{} places are more than {}: give a smaller `n`, a coarser `by`, or a shorter range",
        "{0} Plätze sind mehr als {1}: ein kleineres `n`, ein gröberes `by` oder einen kürzeren \
         Zeitraum angeben",
    ),
    (
        "missing community: give `key=`, the key of a community; /communities lists them",
        "wessen Diagramm? `key=` mit dem Schlüssel einer Gemeinschaft angeben: /communities führt \
         sie auf",
    ),
    (
        "no community has the key `{}`{}",
        "keine Gemeinschaft hat den Schlüssel `{0}`{1!}",
    ),
    // Free queries.
    (
        "the query has {} octets, and may have {}",
        "die Abfrage hat {0} Oktette, und darf {1} haben",
    ),
    (
        "the query is longer than {} KB",
        "die Abfrage ist länger als {0} KB",
    ),
    ("the query is not UTF-8", "die Abfrage ist kein UTF-8"),
    (
        "the query is not UTF-8 text",
        "die Abfrage ist kein Text in UTF-8",
    ),
    (
        "the query contains a NUL character",
        "die Abfrage hat ein Zeichen mit der Nummer 0",
    ),
    (
        "this query returns no rows: only queries that return rows are allowed",
        "das ändert nichts und zeigt nichts: nur Abfragen, die Zeilen geben, werden beantwortet",
    ),
    (
        "{}: only SELECT over the public tables is allowed",
        "{0!}: nur SELECT über die öffentlichen Tabellen wird beantwortet",
    ),
    (
        "the query made a forbidden system call, and was ended",
        "die Abfrage wollte vom Kernel, was keine darf, und wurde beendet",
    ),
    (
        "the query took longer than {} s: ask for a shorter span of time, or use sums, such as \
         community_months",
        "die Abfrage brauchte länger als {0} s: nach einer kürzeren Zeitspanne fragen, oder Summen \
         nehmen, wie community_months",
    ),
    (
        "the query needs more than {} MB of memory: sort, group or join less",
        "die Abfrage braucht mehr als {0} MB Speicher: weniger sortieren, gruppieren oder verbinden",
    ),
    (
        "DuckDB is not installed here: put its program `duckdb` (duckdb.org) where PATH has it, or leave out engine=duckdb",
        "DuckDB ist hier nicht installiert: sein Programm `duckdb` (duckdb.org) dorthin legen, wo \
         PATH es findet, oder engine=duckdb weglassen",
    ),
    (
        "the copy of the data for queries is being created: try again in a few seconds",
        "die Kopie der Daten, die Abfragen lesen, wird gerade gemacht: in einigen Sekunden noch \
         einmal versuchen",
    ),
    (
        "too many queries at once: try again in a few seconds",
        "zu viele Abfragen auf einmal: in einigen Sekunden noch einmal versuchen",
    ),
    (
        "too many queries at once from your address: wait until one of them is answered",
        "zu viele Abfragen auf einmal von Ihrer Adresse: andere sollen auch Antwort bekommen",
    ),
    ("{} (character {})", "{0!} (Zeichen {1})"),
    // The server.
    (
        "too many requests are waiting",
        "zu viele Fragen warten auf Antwort",
    ),
    (
        "too many requests from your address are waiting",
        "zu viele Fragen von Ihrer Adresse warten auf Antwort",
    ),
    (
        "too many large answers are being sent to others",
        "zu viele große Antworten sind unterwegs zu anderen",
    ),
    (
        "large answers are being sent to your address",
        "große Antworten sind unterwegs zu Ihrer Adresse",
    ),
    (
        "this server answers only GET and HEAD",
        "dieser Server beantwortet nur GET und HEAD",
    ),
    ("there is nothing at {}", "unter {0} ist nichts"),
    (
        "cannot read the data at the moment",
        "die Daten können gerade nicht gelesen werden",
    ),
    (
        "cannot create the answer",
        "die Antwort ließ sich nicht machen",
    ),
    ("the database: {}", "die Datenbank: {0!}"),
    // Hints.
    (
        "/about lists all addresses",
        "/about führt alle Adressen auf",
    ),
    (
        "/about lists all parameters",
        "/about führt auf, was gefragt werden kann",
    ),
    (
        "/sql lists fast sums",
        "/sql führt Summen auf, die schnell sind",
    ),
    (
        "/sql lists the tables, and examples",
        "/sql führt die Tabellen auf, und Beispiele",
    ),
    (
        "/communities lists all communities",
        "/communities führt alle Gemeinschaften auf",
    ),
    (
        "try again in a few seconds",
        "in einigen Sekunden noch einmal versuchen",
    ),
    (
        "try again in a few seconds; see the server's log",
        "in einigen Sekunden noch einmal versuchen; das Protokoll des Servers sagt, warum",
    ),
    (
        "try again when one of them is answered",
        "noch einmal versuchen, wenn eine davon beantwortet ist",
    ),
    (
        "the request took too long: use a shorter time or larger steps",
        "das dauerte zu lange: nach einer kürzeren Zeit fragen, oder nach größeren Schritten",
    ),
    (
        "see the server's log",
        "das Protokoll des Servers sagt, warum",
    ),
];

/// Parts of the phrases above.
pub(super) const PARTS: &[(&str, &str)] = &[
    ("; did you mean `{}`?", "; war `{0}` gemeint?"),
    (
        "a year, month, day or hour from 1970 to 2199, UTC: {}",
        "ein Jahr, Monat, Tag oder eine Stunde von 1970 bis 2199, UTC: {0}",
    ),
    (
        "a whole number from {} to {}",
        "eine ganze Zahl von {0} bis {1}",
    ),
    (
        "keys of at most {} letters",
        "Schlüssel mit höchstens {0} Buchstaben",
    ),
    ("{} or {} or {}", "{0} oder {1} oder {2}"),
    ("{} or {}", "{0} oder {1}"),
    ("meta", "meta"),
];
