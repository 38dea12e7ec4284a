//! Help texts: commands grouped by purpose, printing, and checks of the layout.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use clap::Command;

/// Columns of the narrowest terminal that shows every line of a table or an example unbroken.
const NARROW: usize = 80;
/// Columns of a wide terminal.
const WIDE: usize = 120;

/// Commands of one purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Heading above the commands.
    pub heading: &'static str,
    /// Names of the commands, in the order of the list.
    pub commands: Vec<String>,
}

/// Lists the commands under these headings in the help.
pub fn grouped(command: Command, groups: &[Group]) -> Command {
    let (header, literal) = {
        let styles = command.get_styles();
        (*styles.get_header(), *styles.get_literal())
    };
    let names = groups.iter().flat_map(|group| &group.commands);
    let width = names.map(String::len).max().unwrap_or(0);
    let mut list = String::new();
    for group in groups {
        let _ = writeln!(list, "{header}{}:{header:#}", group.heading);
        for name in &group.commands {
            let Some(below) = command.find_subcommand(name) else {
                continue;
            };
            let about = below.get_about().map(ToString::to_string);
            let _ = write!(
                list,
                "  {literal}{name}{literal:#}{:pad$}  {}",
                "",
                about.unwrap_or_default(),
                pad = width - name.len()
            );
            let aliases: Vec<_> = below.get_visible_aliases().collect();
            if !aliases.is_empty() {
                let _ = write!(list, " [alias: {}]", aliases.join(", "));
            }
            list.push('\n');
        }
        list.push('\n');
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Prints help and version to standard output, errors to standard error; colour on a terminal only.
///
/// # Errors
/// The stream cannot be written.
pub fn print(answer: &clap::Error) -> io::Result<()> {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let text = |terminal: bool| match terminal && !set("NO_COLOR") && !dumb {
        true => trimmed(&answer.render().ansi().to_string()),
        false => trimmed(&answer.render().to_string()),
    };
    match answer.use_stderr() {
        true => io::stderr().write_all(text(io::stderr().is_terminal()).as_bytes()),
        false => io::stdout().write_all(text(io::stdout().is_terminal()).as_bytes()),
    }
}

/// Returns the text without the spaces that clap leaves at the end of lines.
fn trimmed(text: &str) -> String {
    let mut lines: String = text
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    if !text.ends_with('\n') {
        lines.pop();
    }
    lines
}

/// Lists layout faults in the help of a command and of all its subcommands: lines too long for 80
/// or 120 columns, spaces at the end, and line breaks within a sentence.
pub fn faults(mut command: Command) -> Vec<String> {
    command.build();
    let mut faults = Vec::new();
    find(&command, "", &mut faults);
    faults
}

fn find(command: &Command, above: &str, faults: &mut Vec<String>) {
    let name = format!("{above} {}", command.get_name());
    let mut complain = |what: &str, line: &str| faults.push(format!("{name}: {what}: {line}"));
    for columns in [NARROW, WIDE] {
        let sized = command.clone().term_width(columns);
        for text in [
            sized.clone().render_help(),
            sized.clone().render_long_help(),
        ] {
            for line in trimmed(&text.to_string()).lines() {
                // clap never breaks the usage line.
                let usage = line.starts_with("Usage: ") || line.starts_with("       weir");
                if line.chars().count() > columns && !usage {
                    complain(&format!("more than {columns} columns"), line);
                }
                if line.ends_with(char::is_whitespace) {
                    complain("space at the end", line);
                }
            }
        }
    }
    let texts = [
        command.get_about(),
        command.get_long_about(),
        command.get_before_help(),
        command.get_before_long_help(),
        command.get_after_help(),
        command.get_after_long_help(),
    ];
    let of_arguments = (command.get_arguments()).flat_map(|it| [it.get_help(), it.get_long_help()]);
    for text in texts.into_iter().chain(of_arguments).flatten() {
        broken(&text.to_string(), &mut complain);
    }
    for below in command.get_subcommands() {
        if below.get_name() != "help" {
            find(below, &name, faults);
        }
    }
}

/// Reports a text whose lines will not be shown as written.
fn broken(text: &str, complain: &mut dyn FnMut(&str, &str)) {
    let mut before = "";
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        let indented = |line: &str| line.starts_with(' ');
        if line.ends_with(char::is_whitespace) {
            complain("space at the end", line);
        }
        if indented(line) && line.chars().count() > NARROW {
            complain("will be broken at 80 columns", line);
        }
        let goes_on = !next.is_empty() && !indented(next);
        if !line.is_empty() && !indented(line) && goes_on && !line.ends_with(['.', ':']) {
            complain("broken within a sentence", line);
        }
        let heads = line.ends_with(':') && !indented(line) && indented(next);
        if heads && !before.is_empty() {
            complain("no empty line before the heading", line);
        }
        before = line;
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn broken_texts_are_found() {
        let of = |text: &'static str| {
            let below = Command::new("below").after_long_help(text);
            faults(Command::new("above").subcommand(below))
        };
        assert_eq!(
            of("One line.\nAnother.\n\nExamples:\n  above below"),
            [""; 0]
        );
        for (text, what) in [
            ("A sentence that\ngoes on.", "broken within a sentence"),
            ("A sentence.\nExamples:\n  above", "no empty line"),
            ("A sentence. \n\nAnother.", "space at the end"),
            (
                "Examples:\n  above below with a line that is longer than any old terminal has columns in a row",
                "will be broken",
            ),
        ] {
            let found = of(text);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].contains("above below") && found[0].contains(what),
                "{found:?}"
            );
        }
        let word = "x".repeat(90);
        let found = faults(Command::new("above").arg(Arg::new("one").long("one").help(word)));
        assert!(
            found
                .iter()
                .all(|fault| fault.contains("more than 80 columns")),
            "{found:?}"
        );
        assert!(!found.is_empty());
    }

    #[test]
    fn commands_stand_under_their_heading() {
        let groups = [
            Group {
                heading: "See",
                commands: vec!["top".into()],
            },
            Group {
                heading: "Run",
                commands: vec!["start".into()],
            },
        ];
        let command = Command::new("weir")
            .subcommand(Command::new("start").about("Begin"))
            .subcommand(Command::new("top").about("Watch").visible_alias("t"));
        let help = grouped(command, &groups).render_long_help().to_string();
        let list = "See:\n  top    Watch [alias: t]\n\nRun:\n  start  Begin\n\nOptions:\n";
        assert!(help.contains(list), "{help}");
    }
}
