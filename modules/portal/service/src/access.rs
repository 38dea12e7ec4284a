//! Parts of the portal that the API works on.

use std::cell::RefCell;
use std::rc::Rc;

use api::Problem;

use super::keeper::Keeper;
use super::welcome::Welcome;

/// The parts, if there is a portal.
#[derive(Clone, Default)]
pub struct Access(pub Option<Rc<Parts>>);

/// The parts.
pub struct Parts {
    pub keeper: Rc<RefCell<Keeper>>,
    pub welcome: Rc<Welcome>,
    /// Name of the guests' Wi-Fi.
    pub wifi: String,
}

impl Access {
    pub fn parts(&self) -> Result<&Rc<Parts>, Problem> {
        self.0.as_ref().ok_or_else(|| {
            let hint = "write `devices = [\"br-lan\"]` under [portal], and restart weir";
            Problem::new(409, "no_portal", "no portal on this router", hint)
        })
    }

    pub fn keeper(&self) -> Result<Rc<RefCell<Keeper>>, Problem> {
        Ok(Rc::clone(&self.parts()?.keeper))
    }

    pub fn welcome(&self) -> Result<Rc<Welcome>, Problem> {
        Ok(Rc::clone(&self.parts()?.welcome))
    }
}
