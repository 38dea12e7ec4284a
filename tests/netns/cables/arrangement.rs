//! An arrangement: the peers at the other end of a cable, and weir's expected report.

use std::time::{Duration, Instant};

use answers::Cable;
use lab::Error;

use crate::cables::plug::{Plug, Used};
use crate::cables::scene::Scene;

/// A first decision may be half the truth: what is behind a radio is told later, and lldpd speaks
/// every 30 s where it did not see the link.
const LATER: Duration = Duration::from_secs(45);

#[derive(Clone, Copy, Debug)]
pub struct Arrangement {
    /// As the test is called, where there is one.
    pub name: &'static str,
    /// For people.
    pub text: &'static str,
    /// The role that is right.
    pub is: &'static str,
    /// Another that will do, too: `unknown`, where nothing can tell.
    pub or: &'static [&'static str],
    /// Words that have to be in the answer.
    pub says: &'static [&'static str],
    /// What the port is used for.
    pub used: Used,
    /// How it is built, but for the router with weir.
    pub build: fn(&mut Scene) -> Result<(), Error>,
}

/// Arrangements, and a test of each that is marked so. What the others are taken for is held by the
/// core's tests (`arrangements`), and what they are made of by those that are marked; `matrix` has all.
///
/// `#[test] name: "text" is "role" or "role" says "word", Used::Not, |scene| { … };`
macro_rules! arrangements {
    ($($(#[$test:meta])? $name:ident: $text:literal is $is:literal $(or $or:literal)* $(says $says:literal)*,
       $used:expr, $build:expr;)*) => {
        /// Those of this file.
        pub const ALL: &[$crate::cables::arrangement::Arrangement] = &[$(
            $crate::cables::arrangement::Arrangement {
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
                $crate::cables::arrangement::holds(ALL, stringify!($name))
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
    /// From the link to the first, by the wall's clock.
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

    /// Builds it, plugs the cable in, and waits for what weir says.
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
