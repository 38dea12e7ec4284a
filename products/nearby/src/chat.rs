//! `weir-nearby chat`: to talk with those who are near, in a terminal or through pipes.
//!
//! [`model`] knows what was said and what is to be done next, and is pure; [`view`] makes rows of it.
//! Threads wait: one for keys, one for what the daemon tells, one that says what is to be said, one for
//! signals; all of them only send events to the loop in [`run`], or in [`plain`] where there is no
//! terminal.

mod input;
mod keys;
mod link;
mod model;
mod plain;
mod run;
mod text;
mod view;

pub(crate) use plain::{Ended, plain};
pub(crate) use run::run;
pub(crate) use view::Look;

use keys::Key;
use model::Told;

/// Events that wait for the loop: whoever has more waits.
const AHEAD: usize = 64;

/// What happens to the loop.
#[derive(Debug)]
enum Event {
    Key(Key),
    /// What was put in from elsewhere.
    Pasted(String),
    Told(Told),
    /// A line of standard input, or why it is none; nothing at its end.
    Line(Option<Result<String, String>>),
    /// The terminal has another size.
    Resized,
    /// To end, without anybody having pressed a key.
    Stop,
    /// A thread panicked, which it has told already.
    Panicked,
}

/// When something was said, on the clock of where this runs; with the day, where it was another one.
fn clock(time: u64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let moment = i64::try_from(time).ok();
    let moment = moment.and_then(|it| jiff::Timestamp::from_millisecond(it).ok());
    let Some(moment) = moment.map(|it| it.to_zoned(zone.clone())) else {
        return "--:--".to_owned();
    };
    let (date, time) = (moment.date(), moment.time());
    let clock = format!("{:02}:{:02}", time.hour(), time.minute());
    match date == jiff::Timestamp::now().to_zoned(zone).date() {
        true => clock,
        false => format!("{date} {clock}"),
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}
