//! Parts of the portal that the API works on.

use std::cell::RefCell;
use std::rc::Rc;

use api::Problem;

use super::guest_service::GuestService;
use super::page_content::PageContent;

/// The parts, if there is a portal.
#[derive(Clone, Default)]
pub struct PortalAccess(pub Option<Rc<PortalParts>>);

/// Parts of the portal's API state.
pub struct PortalParts {
    pub guest_service: Rc<RefCell<GuestService>>,
    pub content: Rc<PageContent>,
    /// Name of the guests' Wi-Fi.
    pub wifi: String,
}

impl PortalAccess {
    pub fn parts(&self) -> Result<&Rc<PortalParts>, Problem> {
        self.0.as_ref().ok_or_else(|| {
            let hint = "write `devices = [\"br-lan\"]` under [portal], and restart weir";
            Problem::new(409, "no_portal", "no portal on this router", hint)
        })
    }

    pub fn guest_service(&self) -> Result<Rc<RefCell<GuestService>>, Problem> {
        Ok(Rc::clone(&self.parts()?.guest_service))
    }

    pub fn content(&self) -> Result<Rc<PageContent>, Problem> {
        Ok(Rc::clone(&self.parts()?.content))
    }
}
