//! The clock, which tests can set.

use std::rc::Rc;
use std::time::{Duration, Instant};

/// Returns the time since some beginning; never goes back.
pub type Clock = Rc<dyn Fn() -> Duration>;

/// Returns a clock that begins now.
pub(crate) fn start() -> Clock {
    let begin = Instant::now();
    Rc::new(move || begin.elapsed())
}
