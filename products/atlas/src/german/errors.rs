//! Errors and hints that pages show. Messages of engines about a query are not among them.

pub(super) const PHRASES: &[(&str, &str)] = &[
    // Addresses.
    (
        "the address is longer than {} octets behind `?`",
        "die Adresse ist hinter dem `?` länger als {0} Oktette",
    ),
    (
        "the address is not percent-encoded text: write %XX with two hexadecimal digits, of UTF-8",
        "die Adresse ist kein prozentkodierter Text; schreiben Sie %XX mit zwei hexadezimalen \
         Ziffern, in UTF-8",
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
        "`{0}` ist hier kein Parameter; verwenden Sie {1}",
    ),
    (
        "`{}` occurs twice: give it once",
        "`{0}` kommt zweimal vor; geben Sie es nur einmal an",
    ),
    (
        "`key` has {} keys: give at most {}",
        "`key` hat {0} Schlüssel; geben Sie höchstens {1} an",
    ),
    (
        "`only` has {} keys: give at most {}",
        "`only` hat {0} Schlüssel; geben Sie höchstens {1} an",
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
        "`after` muss eine Zahl sein, wie sie im Link zu weiteren Zeilen steht",
    ),
    (
        "`format` must be html, json or csv",
        "`format` muss html, json oder csv sein",
    ),
    (
        "`engine` must be sqlite or duckdb",
        "`engine` muss sqlite oder duckdb sein",
    ),
    ("`q` contains no query", "in `q` steht keine Abfrage"),
    // Charts.
    (
        "`from` ({}) is later than `to`, whose last hour is {}: give the earlier as `from`",
        "`from` ({0}) ist später als `to`, dessen letzte Stunde {1} ist; geben Sie die frühere \
         Zeit als `from` an",
    ),
    (
        "`by={}` would be {} points, and {} are the most: give `by={}`, or a range of at most {} \
         days",
        "`by={0}` ergäbe {1} Punkte, mehr als die erlaubten {2}; geben Sie `by={3}` an oder einen \
         Zeitraum von höchstens {4} Tagen",
    ),
    (
        "{} places are more than {}: give a smaller `n`, a coarser `by`, or a shorter range",
        "{0} Plätze sind mehr als {1}; geben Sie ein kleineres `n`, ein gröberes `by` oder einen \
         kürzeren Zeitraum an",
    ),
    (
        "missing community: give `key=`, the key of a community; /communities lists them",
        "es fehlt eine Gemeinschaft; geben Sie ihren Schlüssel als `key=` an; /communities führt \
         alle auf",
    ),
    (
        "no community has the key `{}`{}",
        "keine Gemeinschaft hat den Schlüssel `{0}`{1!}",
    ),
    // Free queries.
    (
        "the query has {} octets, and may have {}",
        "die Abfrage hat {0} Oktette; erlaubt sind {1}",
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
        "die Abfrage enthält ein NUL-Zeichen",
    ),
    (
        "this query returns no rows: only queries that return rows are allowed",
        "diese Abfrage gibt keine Zeilen zurück; erlaubt sind nur Abfragen, die Zeilen zurückgeben",
    ),
    (
        "{}: only SELECT over the public tables is allowed",
        "{0!}: erlaubt ist nur SELECT über die öffentlichen Tabellen",
    ),
    (
        "the query made a forbidden system call, and was ended",
        "die Abfrage machte einen verbotenen Systemaufruf und wurde beendet",
    ),
    (
        "the query took longer than {} s: ask for a shorter span of time, or use sums, such as \
         community_months",
        "die Abfrage brauchte länger als {0} s; wählen Sie eine kürzere Zeitspanne, oder verwenden \
         Sie Summen wie community_months",
    ),
    (
        "the query needs more than {} MB of memory: sort, group or join less",
        "die Abfrage braucht mehr als {0} MB Speicher; sortieren, gruppieren oder verbinden Sie \
         weniger",
    ),
    (
        "DuckDB is not installed here: put its program `duckdb` (duckdb.org) where PATH has it, or leave out engine=duckdb",
        "DuckDB ist hier nicht installiert; legen Sie sein Programm `duckdb` (duckdb.org) in ein \
         Verzeichnis aus PATH, oder lassen Sie engine=duckdb weg",
    ),
    (
        "the copy of the data for queries is being created: try again in a few seconds",
        "die Kopie der Daten für Abfragen wird gerade angelegt; versuchen Sie es in einigen \
         Sekunden noch einmal",
    ),
    (
        "too many queries at once: try again in a few seconds",
        "zu viele Abfragen auf einmal; versuchen Sie es in einigen Sekunden noch einmal",
    ),
    (
        "too many queries at once from your address: wait until one of them is answered",
        "zu viele Abfragen auf einmal von Ihrer Adresse; warten Sie, bis eine beantwortet ist",
    ),
    ("{} (character {})", "{0!} (Zeichen {1})"),
    // The server.
    (
        "too many requests are waiting",
        "zu viele Anfragen warten auf Antwort",
    ),
    (
        "too many requests from your address are waiting",
        "zu viele Anfragen von Ihrer Adresse warten auf Antwort",
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
        "die Antwort ließ sich nicht erstellen",
    ),
    ("the database: {}", "die Datenbank: {0!}"),
    // Hints.
    (
        "/about lists all addresses",
        "/about führt alle Adressen auf",
    ),
    (
        "/about lists all parameters",
        "/about führt alle Parameter auf",
    ),
    ("/sql lists fast sums", "/sql führt schnelle Summen auf"),
    (
        "/sql lists the tables, and examples",
        "/sql führt die Tabellen und Beispiele auf",
    ),
    (
        "/communities lists all communities",
        "/communities führt alle Gemeinschaften auf",
    ),
    (
        "try again in a few seconds",
        "versuchen Sie es in einigen Sekunden noch einmal",
    ),
    (
        "try again in a few seconds; see the server's log",
        "versuchen Sie es in einigen Sekunden noch einmal; das Protokoll des Servers sagt, warum",
    ),
    (
        "try again when one of them is answered",
        "versuchen Sie es noch einmal, wenn eine davon beantwortet ist",
    ),
    (
        "the request took too long: use a shorter time or larger steps",
        "die Anfrage dauerte zu lange; wählen Sie einen kürzeren Zeitraum oder größere Schritte",
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
