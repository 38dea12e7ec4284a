//! What became of where a port goes, with the link that it has.

use ::cables::Use;

use super::mover::Told;

/// It.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Moved {
    #[default]
    Not,
    /// It is under way.
    Made(Use),
    /// It works. Whoever takes it back then is not contradicted.
    Kept(Use),
    /// It is not tried again.
    Refused(Use, String),
    /// It is.
    Later(String),
}

impl Moved {
    /// By what was told of the last try.
    pub fn by(to: Use, told: &Told) -> Self {
        match told {
            Told::Made => Self::Made(to),
            Told::Kept => Self::Kept(to),
            Told::Refused(why) => Self::Refused(to, why.clone()),
            Told::Later(why) => Self::Later(why.clone()),
            Told::Undone => Self::Refused(to, "somebody took that back".to_owned()),
            Told::TakenBack => {
                let why = "it did not work within a minute, so that its former use is back";
                Self::Refused(to, why.to_owned())
            }
        }
    }

    /// Whether it worked.
    pub fn is_kept(&self, to: Use) -> bool {
        *self == Self::Kept(to)
    }

    /// A sentence of it, and whether somebody should see to it. `stays`: why it goes nowhere.
    pub fn said(&self, stays: Option<&str>) -> Option<(String, bool)> {
        let as_what = |to: &Use| match to {
            Use::Lan => "of the LAN",
            Use::Uplink => "the uplink",
            Use::Mesh => "of the mesh",
            Use::None => "used for nothing",
        };
        match self {
            Self::Made(to) => {
                let text = format!("It is made {}, and kept so once that works", as_what(to));
                Some((text, false))
            }
            Self::Refused(to, why) => {
                Some((format!("It cannot be made {}: {why}", as_what(to)), true))
            }
            Self::Later(why) => Some((format!("It cannot be moved yet: {why}"), true)),
            Self::Not | Self::Kept(_) => {
                let why = stays?;
                let rest = why.strip_prefix("it").unwrap_or(why);
                Some((format!("It{rest}"), false))
            }
        }
    }
}

/// What is said once of a move that works.
pub fn kept(to: Use) -> String {
    let so = match to {
        Use::Lan => "in the LAN",
        Use::Uplink => "as the uplink",
        Use::Mesh => "in the mesh",
        Use::None => "out of everything",
    };
    format!("It is kept {so}")
}
