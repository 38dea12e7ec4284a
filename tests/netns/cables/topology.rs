//! An arrangement: the peers at the other end of a cable, and weir's expected report.

use std::time::{Duration, Instant};

use answers::Cable;
use lab::Error;

use crate::cables::plug::{Plug, Used};
use crate::cables::scene::Scene;

/// A first decision may be incomplete: devices behind a radio appear later, and lldpd sends every
/// 30 s if it did not see the link.
const LATER: Duration = Duration::from_secs(45);

#[derive(Clone, Copy, Debug)]
pub struct Arrangement {
    /// Name of the test, if there is one.
    pub name: &'static str,
    /// Description for people.
    pub text: &'static str,
    /// The right role.
    pub is: &'static str,
    /// Other accepted roles: `unknown` if the role cannot be determined.
    pub or: &'static [&'static str],
    /// Words that the answer must contain.
    pub says: &'static [&'static str],
    /// Use of the port.
    pub used: Used,
    /// Builds all but the router with weir.
    pub build: fn(&mut Scene) -> Result<(), Error>,
}

/// Arrangements; each marked one is a test. The core's tests (`arrangements`) cover the roles of
/// the others, the marked ones cover their parts; `matrix` runs all.
///
/// `#[test] name: "text" is "role" or "role" says "word", Used::Not, |scene| { … };`
macro_rules! arrangements {
    ($($(#[$test:meta])? $name:ident: $text:literal is $is:literal $(or $or:literal)* $(says $says:literal)*,
       $used:expr, $build:expr;)*) => {
        pub const ALL: &[$crate::cables::topology::Arrangement] = &[$(
            $crate::cables::topology::Arrangement {
                name: stringify!($name),
                text: $text,
                is: $is,
                or: &[$($or),*],
                says: &[$($says),*],
                used: $used,
                build: $build,
            },
        )*];
        $($(
            #[$test]
            fn $name() -> Result<(), ::lab::Error> {
                $crate::cables::topology::holds(ALL, stringify!($name))
            }
        )?)*
    };
}
pub(crate) use arrangements;

/// weir's report on an arrangement.
#[derive(Clone, Debug)]
pub struct Said {
    pub first: Cable,
    /// The last report, if the first was not the right one.
    pub last: Cable,
    /// Wall-clock time from the link to the first report.
    pub wall: Duration,
}

impl Said {
    /// Returns true if weir had to send probes.
    pub fn asked(&self) -> bool {
        self.first.evidence.iter().any(|it| it.kind == "look")
    }
}

impl Arrangement {
    /// Returns true if the role is one of the accepted ones.
    pub fn allows(&self, role: &str) -> bool {
        self.is == role || self.or.contains(&role)
    }

    /// Builds the arrangement, plugs the cable in, and waits for weir's report.
    pub fn run(&self) -> Result<Said, Error> {
        let mut scene = Scene::new()?;
        (self.build)(&mut scene)?;
        let mut plug = Plug::of(scene, self.used)?;
        let begin = Instant::now();
        let first = plug.plugged()?;
        let wall = begin.elapsed();
        let done = |cable: &Cable| self.allows(&cable.role) && self.says_all(cable);
        let mut last = first.clone();
        let deadline = Instant::now() + LATER;
        while !done(&last) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(100));
            last = plug.cable()?.unwrap_or(last);
        }
        Ok(Said { first, last, wall })
    }

    fn says_all(&self, cable: &Cable) -> bool {
        let text = format!("{cable:?}");
        self.says.iter().all(|word| text.contains(word))
    }
}

/// Asserts that weir reports an accepted role for this arrangement.
#[track_caller]
pub fn holds(all: &[Arrangement], name: &str) -> Result<(), Error> {
    let found = all.iter().find(|it| it.name == name);
    let arrangement = found.ok_or_else(|| Error::Unexpected(format!("no {name}")))?;
    let said = arrangement.run()?;
    let last = &said.last;
    println!("{name}: {} after {:?}", last.role, said.wall);
    let right = arrangement.is;
    assert!(arrangement.allows(&last.role), "{right}: {last:#?}");
    assert!(
        arrangement.says_all(last),
        "{:?}: {last:#?}",
        arrangement.says
    );
    assert!(!last.why.is_empty(), "{last:#?}");
    Ok(())
}
