//! Descriptions of tables: the comments of `sql/public.sql` and `store/schema.sql`.

pub(super) const PHRASES: &[(&str, &str)] = &[
    (
        "The hours with a snapshot, as number and as text.",
        "Die Stunden mit einem Schnappschuss, als Zahl und als Text.",
    ),
    (
        "The days with a snapshot, as number and as text.",
        "Die Tage mit einem Schnappschuss, als Zahl und als Text.",
    ),
    ("Since 1970.", "Seit 1970."),
    ("\"{}\"", "\"{0}\""),
    (
        "What the directory said, hour by hour. Name a span of time, for the whole is long: {}",
        "Was das Verzeichnis sagte, Stunde für Stunde. Geben Sie eine Zeitspanne an, denn die \
         ganze Tabelle ist lang: {0}",
    ),
    (
        "Names the community for ever.",
        "Bezeichnet die Gemeinschaft dauerhaft.",
    ),
    ("As it was then.", "Wie es damals war."),
    (
        "As told, however absurd; NULL: not told.",
        "Wie gemeldet, auch wenn es unsinnig ist; NULL: nicht gemeldet.",
    ),
    (
        "'live', 'stale' (older than two days), 'frozen' (90 days), 'odd' (negative or absurd).",
        "'live' (aktuell), 'stale' (älter als zwei Tage), 'frozen' (90 Tage), 'odd' (negativ oder \
         unsinnig).",
    ),
    (
        "1: in the sum of all; 0: odd, or counted with another entry.",
        "1: in der Summe aller; 0: nicht glaubhaft, oder mit einem anderen Eintrag gezählt.",
    ),
    (
        "All communities together, by month: means over the hours with a snapshot.",
        "Alle Gemeinschaften zusammen, nach Monaten: Mittel über Stunden mit Schnappschuss.",
    ),
    ("Each counted once.", "Jeder einmal gezählt."),
    (
        "Of these, by how old the numbers were.",
        "Davon, nach dem Alter der Zahlen.",
    ),
    ("Entries in the directory.", "Einträge im Verzeichnis."),
    ("The same by day.", "Dasselbe nach Tagen."),
    ("The same by hour.", "Dasselbe nach Stunden."),
    (
        "Each community, by month.",
        "Jede Gemeinschaft, nach Monaten.",
    ),
    (
        "As it was at the month's end.",
        "Wie er am Ende des Monats war.",
    ),
    (
        "Mean over the hours with a number that is not odd; NULL: there was none.",
        "Mittel über die Stunden mit einer glaubhaften Zahl; NULL: es gab keine.",
    ),
    (
        "What it adds to `growth`, where each is counted once.",
        "Was sie zu `growth` beiträgt; dort zählt jeder Knoten einmal.",
    ),
    (
        "Hours in which it was in the directory; and those with an odd number.",
        "Stunden, in denen sie im Verzeichnis stand; und die mit einer nicht glaubhaften Zahl.",
    ),
    ("Each community, by day.", "Jede Gemeinschaft, nach Tagen."),
    (
        "Who was ever in the directory, with what they said of themselves last.",
        "Jede Gemeinschaft, die je im Verzeichnis stand, mit ihren letzten Angaben.",
    ),
    (
        "The community that it is part of, by name.",
        "Die Gemeinschaft, zu der sie gehört, mit Namen.",
    ),
    ("Degrees, WGS 84.", "Grad, WGS 84."),
    ("Version of the format.", "Version des Formats."),
    (
        "The first and the last hour in which it was there.",
        "Die erste und die letzte Stunde, in der sie da war.",
    ),
    (
        "Which routing protocols each community named last.",
        "Welche Routing-Protokolle jede Gemeinschaft zuletzt nannte.",
    ),
    (
        "What was not as it should be in the files, and how it was read all the same.",
        "Fehler in den Dateien, und wie weir-atlas diese Stellen gelesen hat.",
    ),
    ("NULL: the file as a whole.", "NULL: die Datei als Ganze."),
    (
        "Who was ever in the directory.",
        "Wer je im Verzeichnis stand.",
    ),
    (
        "Of the latest snapshot that has it.",
        "Aus dem letzten Schnappschuss, in dem sie steht.",
    ),
    (
        "What they said of themselves; each combination once.",
        "Angaben der Gemeinschaften über sich; jede Kombination einmal.",
    ),
    ("Of all that follows.", "Von allem, was folgt."),
    (
        "The reports, hour by hour.",
        "Was gemeldet wurde, Stunde für Stunde.",
    ),
    ("Seconds since 1970.", "Sekunden seit 1970."),
    (
        "Sums of observations with a number that is not odd. Mean: nodes / hours.",
        "Summen der Beobachtungen mit einer glaubhaften Zahl. Mittel: nodes / hours.",
    ),
    (
        "Of `nodes`, those that were counted, by status.",
        "Von `nodes` die, die gezählt wurden, nach Zustand.",
    ),
    (
        "Hours in which it was in the directory, with a number or without; and those with an odd \
         one.",
        "Stunden, in denen sie im Verzeichnis stand, mit einer Zahl oder ohne; und die mit einer \
         nicht glaubhaften.",
    ),
    (
        "The last of the day; where there were more, `day_profiles` has each.",
        "Das letzte des Tages; wo es mehrere waren, stehen alle in `day_profiles`.",
    ),
    (
        "Days within which what a community says of itself changed: what `days` has of it, by \
         profile.",
        "Tage, an denen eine Gemeinschaft ihre Angaben änderte: ihre Werte aus `days`, nach \
         Profil.",
    ),
    ("The same of months.", "Dasselbe für Monate."),
    (
        "The directory as a whole. `hours`: with a snapshot. Mean of nodes: {}; of communities: {}.",
        "Das Verzeichnis als Ganzes. `hours`: mit einem Schnappschuss. Mittel der Knoten: {0}; der \
         Gemeinschaften: {1}.",
    ),
    (
        "Which files were read, by their content, so that none is read twice.",
        "Welche Dateien gelesen wurden, nach ihrem Inhalt, damit keine zweimal gelesen wird.",
    ),
    (
        "NULL: nothing in it could be read.",
        "NULL: Nichts darin ließ sich lesen.",
    ),
    (
        "When it was read: seconds since 1970.",
        "Wann sie gelesen wurde: Sekunden seit 1970.",
    ),
    (
        "One row. Each commit changes it.",
        "Eine Zeile. Jede Änderung der Daten ändert sie.",
    ),
    (
        "What was not as it should be, and how it was read all the same.",
        "Fehler, und wie weir-atlas diese Stellen gelesen hat.",
    ),
];
