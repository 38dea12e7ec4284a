//! Defects of files and their readings, as worded in `read`.

/// Whole lines. Phrases about a file or a key precede those about any value.
pub(super) const PHRASES: &[(&str, &str)] = &[
    // Readings.
    ("left out", "weggelassen"),
    ("the last one", "das letzte"),
    (
        "the text with \u{fffd} in its place",
        "der Text mit \u{fffd} an seiner Stelle",
    ),
    ("its key", "sein Schlüssel"),
    ("its first", "das erste davon"),
    ("its beginning", "der Anfang"),
    (
        "the text without control characters",
        "der Text ohne Steuerzeichen",
    ),
    (
        "the number {}, shown but not counted",
        "die Zahl {0}, gezeigt, aber nicht mitgezählt",
    ),
    ("the number {}", "die Zahl {0}"),
    (
        "the file with others in their place",
        "die Datei mit anderen an ihrer Stelle",
    ),
    ("the columns that it has", "die Spalten, die sie hat"),
    ("the whole file is left out", "die ganze Datei weggelassen"),
    ("the time of the snapshot", "die Zeit des Schnappschusses"),
    ("not listed", "nicht aufgeführt"),
    // About the file.
    ("an entry has no key", "ein Eintrag hat keinen Schlüssel"),
    ("it has no entries", "sie hat keine Einträge"),
    (
        "neither its name nor its entries contain a time",
        "weder ihr Name noch ihre Einträge enthalten eine Zeit",
    ),
    (
        "its name contains an invalid time",
        "ihr Name enthält eine ungültige Zeit",
    ),
    (
        "this is a list of nodes ({}), not a directory; import the directory that has the communities' sums",
        "das ist eine Liste von Knoten ({0}), kein Verzeichnis; importieren Sie das Verzeichnis mit den Summen der Gemeinschaften",
    ),
    (
        "this is a graph of links, not a directory; import the directory that has the communities' sums",
        "das ist ein Graph von Verbindungen, kein Verzeichnis; importieren Sie das Verzeichnis mit den Summen der Gemeinschaften",
    ),
    (
        "this is a map (GeoJSON), not a directory; import the directory that has the communities' sums",
        "das ist eine Karte (GeoJSON), kein Verzeichnis; importieren Sie das Verzeichnis mit den Summen der Gemeinschaften",
    ),
    (
        "this is the file of one community, not a directory; import the directory that lists the community",
        "das ist die Datei einer Gemeinschaft, kein Verzeichnis; importieren Sie das Verzeichnis, in dem die Gemeinschaft steht",
    ),
    (
        "this is an error message, not a directory; fetch the file again",
        "das ist eine Fehlermeldung, kein Verzeichnis; holen Sie die Datei noch einmal",
    ),
    (
        "this is not a directory: no entry has a number of nodes; describe another format by --mapping",
        "das ist kein Verzeichnis: kein Eintrag nennt die Zahl der Knoten; beschreiben Sie ein anderes Format mit --mapping",
    ),
    ("it is not UTF-8", "sie ist kein UTF-8"),
    (
        "it is not UTF-8, or has control characters in its texts",
        "sie ist kein UTF-8 oder hat Steuerzeichen in ihren Texten",
    ),
    ("the file is empty", "die Datei ist leer"),
    (
        "the file breaks off in its last line",
        "die Datei bricht in ihrer letzten Zeile ab",
    ),
    ("the file breaks off: {}", "die Datei bricht ab: {0!}"),
    (
        "the file is not JSON: it is {}, and has to be UTF-8",
        "die Datei ist kein JSON: sie ist {0} und muss UTF-8 sein",
    ),
    ("the file is not JSON: {}", "die Datei ist kein JSON: {0!}"),
    (
        "the file is {}, and has to be UTF-8",
        "die Datei ist {0} und muss UTF-8 sein",
    ),
    (
        "the file has no {}, or it is not a list",
        "die Datei hat kein {0}, oder es ist keine Liste",
    ),
    (
        "the file has more than 50,000 entries: that is not a directory of communities",
        "die Datei hat mehr als 50.000 Einträge: das ist kein Verzeichnis von Gemeinschaften",
    ),
    (
        "the table has no column {}",
        "die Tabelle hat keine Spalte {0}",
    ),
    ("it has more than {} MiB", "sie hat mehr als {0} MiB"),
    ("it has more than {} files", "es hat mehr als {0} Dateien"),
    (
        "it breaks off, or is not an archive: {}",
        "es bricht ab oder ist kein Archiv: {0!}",
    ),
    ("it breaks off: {}", "es bricht ab: {0!}"),
    ("its time is {}", "ihre Zeit ist {0}"),
    (
        "and {} more that is wrong with it",
        "und weitere Fehler darin: {0}",
    ),
    ("and {} more", "und {0} weitere"),
    // About an entry.
    ("the key comes twice", "der Schlüssel kommt zweimal vor"),
    (
        "the key is long, or has control characters",
        "der Schlüssel ist zu lang oder hat Steuerzeichen",
    ),
    (
        "the key has half a surrogate",
        "der Schlüssel hat ein halbes Surrogatpaar",
    ),
    ("the entry is {}", "der Eintrag ist {0!}"),
    ("the entry: {}", "der Eintrag: {0!}"),
    ("it has no name", "er hat keinen Namen"),
    (
        "it was fetched {} days after the snapshot",
        "er wurde {0} Tage nach dem Schnappschuss geholt",
    ),
    (
        "its line has {} cells, not {}",
        "seine Zeile hat {0} Zellen, nicht {1}",
    ),
    (
        "the address {} is not of the web",
        "{0} ist keine Webadresse",
    ),
    (
        "the position {}, {} is not a community's location",
        "die Position {0}, {1} ist kein Ort einer Gemeinschaft",
    ),
    // About a value.
    ("{} comes twice", "{0} kommt zweimal vor"),
    ("{} has half a surrogate", "{0} hat ein halbes Surrogatpaar"),
    (
        "{} is {}, which is not a time",
        "{0} ist {1!}, und das ist keine Zeit",
    ),
    (
        "{} is {}, too long or with control characters",
        "{0} ist {1!}, zu lang oder mit Steuerzeichen",
    ),
    ("{} is {}", "{0} ist {1!}"),
    ("{} has {}", "{0} hat {1!}"),
];

/// Kinds of values.
pub(super) const PARTS: &[(&str, &str)] = &[
    ("nothing", "nichts"),
    ("true", "wahr"),
    ("false", "falsch"),
    ("the number {}", "die Zahl {0}"),
    ("the text {}", "der Text {0}"),
    ("a list", "eine Liste"),
    ("an object", "ein Objekt"),
    ("a text", "ein Text"),
    ("a number", "eine Zahl"),
];
