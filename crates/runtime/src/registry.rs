//! Registry of weir's modules, and of what each adds to the configuration, the command line and the
//! daemon. Only the list in `weir/src/lib.rs` names a module outside its folder.

use std::ffi::OsString;
use std::io;

use answers::Status;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgMatches, Args, CommandFactory, Parser};

use crate::Error;
use crate::check::Check;
use crate::config::{Effective, Section, Source};
use crate::daemon::{Begin, Early, Part};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  weir check                      what this machine supports and lacks
  weir run                        forward on the devices that weir finds
  weir status                     the state of the daemon
  weir flows --sort bytes         the largest connections first
  weir explain 192.168.1.2:40000 1.1.1.1:443
  weir top                        devices and their traffic, live

Exit codes:
  0  done
  1  failed; standard error has the cause and a hint
  2  invalid command line

Units: bytes in powers of 1024 (KiB, MiB), packets in powers of 1000 (k, M). --json prints every \
number in full.
Colour is used only on a terminal, and never if NO_COLOR is set.";

/// Makes a Linux router faster, and shows who uses it
///
/// weir takes over connections that the kernel's firewall has accepted, and forwards their packets
/// in the driver (XDP) or at TC ingress. The kernel decides; weir repeats the kernel's decisions.
/// All traffic is counted, per conversation and device.
#[derive(Debug, Parser)]
#[command(name = "weir", version, after_long_help = AFTER_HELP, after_help = "`weir --help` shows \
    more, with examples; `weir help COMMAND` explains a command.",
    max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
struct Cli {}

/// A module before it runs, as the registry describes it.
#[derive(Clone, Copy)]
pub struct ModuleEntry {
    /// Name of the module.
    pub name: &'static str,
    /// Help of `--only` for the module; `None` if the module always runs.
    pub choice: Option<&'static str>,
    /// Sections of the configuration.
    pub sections: &'static [Section],
    /// Commands of the module.
    pub commands: fn() -> Vec<Command>,
    /// Line of the module in `weir status`.
    pub status: fn(&Status, &mut Output<'_>) -> io::Result<()>,
    /// Lines of the module in `weir check`.
    pub check: Check,
    /// Finds settings that will not work as written.
    pub doubt: fn(&Effective) -> Option<ConfigWarning>,
    /// Tables of nftables whose rules see each packet for weir itself.
    pub tables: &'static [&'static str],
    /// States the module's requirements for the packet path, before it is loaded.
    pub prepare: fn(&Effective, &mut datapath::Options),
    /// Creates the module; `None`: the daemon itself or another module does its work, or it does
    /// not run.
    pub begin: Option<Begin>,
    /// Creates the module before the packet path is loaded, instead of `begin`.
    pub early: Option<Early>,
}

/// A setting that is valid but will not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    /// Description and cause.
    pub what: String,
    /// Remedy.
    pub hint: String,
}

impl ModuleEntry {
    /// Creates an entry that adds nothing yet.
    pub const fn named(name: &'static str) -> Self {
        Self {
            name,
            choice: None,
            sections: &[],
            commands: Vec::new,
            status: |_, _| Ok(()),
            check: |_, _| Ok(Vec::new()),
            doubt: |_| None,
            tables: &[],
            prepare: |_, _| {},
            begin: None,
            early: None,
        }
    }
}

/// Purpose of a command: a heading of `weir --help` and of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Shows who uses the network, and for which applications.
    See,
    /// Explains weir's decisions.
    Diagnose,
    /// Changes the behaviour of the running router.
    Change,
    /// Configures the router or a machine next to it.
    SetUp,
    /// Runs the daemon.
    Run,
    /// Weir starts these commands itself; no list shows them.
    Internal,
}

impl Group {
    /// Groups that people see, in the order of the help.
    const SHOWN: [(Self, &str); 5] = [
        (Self::See, "See"),
        (Self::Diagnose, "Diagnose"),
        (Self::Change, "Change"),
        (Self::SetUp, "Set up"),
        (Self::Run, "Run"),
    ];
}

/// A command: its purpose, its arguments, and its action.
pub struct Command {
    group: Group,
    written: clap::Command,
    run: Box<Run>,
}

/// Action of a command, given the parsed line.
type Run = dyn Fn(&ArgMatches, &mut Context<'_, '_>) -> Result<(), Error>;

impl Command {
    /// A command with these arguments; their documentation is the command's.
    pub fn new<A: Args>(
        group: Group,
        name: &'static str,
        run: impl Fn(&A, &mut Context<'_, '_>) -> Result<(), Error> + 'static,
    ) -> Self {
        let written = A::augment_args(clap::Command::new(name)).disable_help_subcommand(true);
        Self {
            group,
            written: written.hide(group == Group::Internal),
            run: Box::new(move |matches, context| {
                let args = A::from_arg_matches(matches);
                let args = args.map_err(|error| Error::new(error.to_string(), "report this"))?;
                run(&args, context)
            }),
        }
    }

    /// Creates a command that only prints.
    pub fn printing<A: Args>(
        group: Group,
        name: &'static str,
        run: impl Fn(&A, &mut Output<'_>) -> Result<(), Error> + 'static,
    ) -> Self {
        Self::new(group, name, move |args, context| run(args, context.output))
    }
}

/// Context of a command.
pub struct Context<'a, 'o> {
    /// Modules of weir.
    pub registry: &'a Registry,
    /// Output of the command.
    pub output: &'a mut Output<'o>,
}

/// All parts of weir.
#[derive(Clone)]
pub struct Registry {
    /// Weir itself: the parts outside of modules.
    pub own: ModuleEntry,
    /// Modules in the order of their creation; they stop in reverse order.
    pub modules: Vec<ModuleEntry>,
}

impl Registry {
    /// Every section of the configuration, in the order of the manual.
    pub fn sections(&self) -> Vec<Section> {
        let of_modules = self.modules.iter().flat_map(|entry| entry.sections);
        of_modules.chain(self.own.sections).copied().collect()
    }

    /// The configuration of this machine: these sections, no flags.
    pub fn source(&self) -> Source {
        Source::of(self.sections())
    }

    /// Lists the checks of all modules.
    pub fn checks(&self) -> Vec<Check> {
        self.modules.iter().map(|entry| entry.check).collect()
    }

    /// Returns the tables of nftables that modules own.
    pub fn tables(&self) -> Vec<&'static str> {
        let of_modules = self.modules.iter().flat_map(|entry| entry.tables);
        of_modules.copied().collect()
    }

    /// Lists the daemon parts of all modules.
    pub fn parts(&self) -> Vec<Part> {
        let part = |entry: &ModuleEntry| Part {
            name: entry.name,
            tables: entry.tables,
            prepare: entry.prepare,
            begin: entry.begin,
            early: entry.early,
        };
        self.modules.iter().map(part).collect()
    }

    /// Returns the commands for users, without those that weir starts by itself.
    pub fn tree(&self) -> clap::Command {
        let mut commands = self.commands();
        commands.retain(|command| command.group != Group::Internal);
        self.tree_of(&commands)
    }

    /// Returns the commands that people type, by purpose.
    pub fn groups(&self) -> Vec<cli::help::Group> {
        groups_of(&self.commands())
    }

    fn commands(&self) -> Vec<Command> {
        let all = std::iter::once(&self.own).chain(&self.modules);
        all.flat_map(|entry| (entry.commands)()).collect()
    }

    fn tree_of(&self, commands: &[Command]) -> clap::Command {
        let all = commands.iter().map(|command| command.written.clone());
        let tree = Cli::command().subcommands(all);
        // The values of `--only` depend on the modules.
        let choice = |entry: &ModuleEntry| Some(PossibleValue::new(entry.name).help(entry.choice?));
        let choices: PossibleValuesParser = (self.modules.iter())
            .filter_map(choice)
            .collect::<Vec<_>>()
            .into();
        let tree = tree.mut_subcommand("run", |run| {
            run.mut_arg("only", |only| only.value_parser(choices))
        });
        cli::help::grouped(tree, &groups_of(commands))
    }

    /// Parses a command line and runs its command.
    ///
    /// # Errors
    /// The line cannot be parsed, or asks for help, in clap's words.
    pub fn run(
        &self,
        typed: impl IntoIterator<Item = OsString>,
        output: &mut Output<'_>,
    ) -> Result<Result<(), Error>, clap::Error> {
        let commands = self.commands();
        let tree = self.tree_of(&commands);
        let typed = help_first(&tree, typed.into_iter().collect());
        let matches = tree.try_get_matches_from(typed)?;
        let (name, matches) = matches.subcommand().unwrap_or(("", &matches));
        let meant = commands
            .iter()
            .find(|command| command.written.get_name() == name);
        let mut context = Context {
            registry: self,
            output,
        };
        // The list defines the tree, too.
        Ok(meant.map_or(Ok(()), |command| (command.run)(matches, &mut context)))
    }
}

/// Reads `weir portal help voucher` as `weir help portal voucher`.
fn help_first(tree: &clap::Command, mut typed: Vec<OsString>) -> Vec<OsString> {
    let mut command = tree;
    for place in 1..typed.len() {
        let word = typed[place].to_str().unwrap_or_default();
        if place > 1 && word == "help" && command.has_subcommands() {
            typed[1..=place].rotate_right(1);
            return typed;
        }
        match command.find_subcommand(word) {
            Some(below) => command = below,
            None => return typed,
        }
    }
    typed
}

fn groups_of(commands: &[Command]) -> Vec<cli::help::Group> {
    let group = |(group, heading): (Group, &'static str)| {
        let of_group = commands.iter().filter(|command| command.group == group);
        let names = of_group.map(|command| command.written.get_name().to_owned());
        cli::help::Group {
            heading,
            commands: names.collect(),
        }
    };
    Group::SHOWN.into_iter().map(group).collect()
}
