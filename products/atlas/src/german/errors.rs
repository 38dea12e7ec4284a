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
        "what stands behind the question mark is not percent-encoded text",
        "was hinter dem Fragezeichen steht, ist kein prozentkodierter Text",
    ),
    (
        "`{}` is not a parameter{} (parameters: {})",
        "`{0}` ist kein Parameter{1!} (Parameter: {2})",
    ),
    (
        "`{}` is not asked here, but {}",
        "`{0}` wird hier nicht gefragt, wohl aber {1}",
    ),
    (
        "`{}` is there twice: give it once",
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
        "`after` is a number, as the link to further lines has it",
        "`after` ist eine Zahl, wie sie im Link zu weiteren Zeilen steht",
    ),
    (
        "`format` is html, json or csv",
        "`format` ist html, json oder csv",
    ),
    (
        "`engine` is sqlite or duckdb",
        "`engine` ist sqlite oder duckdb",
    ),
    ("`q` has no query in it", "in `q` steht keine Abfrage"),
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
        "whose chart? Give `key=`, the key of a community: /communities lists them",
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
        "the query is not text in UTF-8",
        "die Abfrage ist kein Text in UTF-8",
    ),
    (
        "the query has a character of the number 0",
        "die Abfrage hat ein Zeichen mit der Nummer 0",
    ),
    (
        "this changes nothing and shows nothing: only queries that give rows are answered",
        "das ändert nichts und zeigt nichts: nur Abfragen, die Zeilen geben, werden beantwortet",
    ),
    (
        "{}: only SELECT over the public tables is answered",
        "{0!}: nur SELECT über die öffentlichen Tabellen wird beantwortet",
    ),
    (
        "the query wanted of the kernel what no query may, and was ended",
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
        "DuckDB is not installed here: put its program `duckdb` (duckdb.org) where PATH has it, or \
         leave engine=duckdb out",
        "DuckDB ist hier nicht installiert: sein Programm `duckdb` (duckdb.org) dorthin legen, wo \
         PATH es findet, oder engine=duckdb weglassen",
    ),
    (
        "the copy of the data that queries read is being made: try again in some seconds",
        "die Kopie der Daten, die Abfragen lesen, wird gerade gemacht: in einigen Sekunden noch \
         einmal versuchen",
    ),
    (
        "too many queries at once: try again in some seconds",
        "zu viele Abfragen auf einmal: in einigen Sekunden noch einmal versuchen",
    ),
    (
        "too many queries at once of your address: others are to be answered too",
        "zu viele Abfragen auf einmal von Ihrer Adresse: andere sollen auch Antwort bekommen",
    ),
    ("{} (character {})", "{0!} (Zeichen {1})"),
    // The server.
    (
        "too many questions wait for an answer",
        "zu viele Fragen warten auf Antwort",
    ),
    (
        "too many questions of your address wait for an answer",
        "zu viele Fragen von Ihrer Adresse warten auf Antwort",
    ),
    (
        "too many large answers are on their way to others",
        "zu viele große Antworten sind unterwegs zu anderen",
    ),
    (
        "large answers are on their way to your address",
        "große Antworten sind unterwegs zu Ihrer Adresse",
    ),
    (
        "this server answers GET and HEAD alone",
        "dieser Server beantwortet nur GET und HEAD",
    ),
    ("there is nothing at {}", "unter {0} ist nichts"),
    (
        "the data cannot be read at this moment",
        "die Daten können gerade nicht gelesen werden",
    ),
    (
        "the answer could not be made",
        "die Antwort ließ sich nicht machen",
    ),
    ("the database: {}", "die Datenbank: {0!}"),
    // Hints.
    (
        "/about lists all addresses",
        "/about führt alle Adressen auf",
    ),
    (
        "/about lists what can be asked",
        "/about führt auf, was gefragt werden kann",
    ),
    (
        "/sql lists sums that are quick",
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
        "try again in some seconds",
        "in einigen Sekunden noch einmal versuchen",
    ),
    (
        "try again in some seconds; the server's log says why",
        "in einigen Sekunden noch einmal versuchen; das Protokoll des Servers sagt, warum",
    ),
    (
        "try again when one of them is answered",
        "noch einmal versuchen, wenn eine davon beantwortet ist",
    ),
    (
        "that took too long: ask for a shorter time, or larger steps",
        "das dauerte zu lange: nach einer kürzeren Zeit fragen, oder nach größeren Schritten",
    ),
    (
        "the server's log says why",
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
