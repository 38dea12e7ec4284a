//! State of the move of a port, with its current link.

use cables_core::Use;

use super::mover::MoveResult;

/// State of a move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MoveState {
    #[default]
    Not,
    /// The move is in progress.
    Made(Use),
    /// The move works. If a person reverts it later, weir does not repeat it.
    Kept(Use),
    /// The move is not tried again.
    Refused(Use, String),
    /// The move is tried again.
    Later(String),
}

impl MoveState {
    /// Converts the result of the last try.
    pub fn by(to: Use, told: &MoveResult) -> Self {
        match told {
            MoveResult::Made => Self::Made(to),
            MoveResult::Kept => Self::Kept(to),
            MoveResult::Refused(why) => Self::Refused(to, why.clone()),
            MoveResult::Later(why) => Self::Later(why.clone()),
            MoveResult::Undone => {
                Self::Refused(to, "another client took the change back".to_owned())
            }
            MoveResult::TakenBack => {
                let why = "the new use did not work within a minute, so weir restored the former \
                     use";
                Self::Refused(to, why.to_owned())
            }
        }
    }

    /// Returns true if the move worked.
    pub fn is_kept(&self, to: Use) -> bool {
        *self == Self::Kept(to)
    }

    /// Describes the state in a sentence, and returns true if the user should act. `stays`: why the
    /// port stays; `to`: its use once other moves are done.
    pub fn said(&self, stays: Option<&str>, to: Option<Use>) -> Option<(String, bool)> {
        let as_what = |to: &Use| match to {
            Use::Lan => "part of the LAN",
            Use::Uplink => "the uplink",
            Use::Mesh => "part of the mesh",
            Use::None => "unused",
        };
        match self {
            Self::Made(to) => {
                let text = format!("It becomes {}, and stays so once that works", as_what(to));
                Some((text, false))
            }
            Self::Refused(to, why) => {
                Some((format!("It cannot become {}: {why}", as_what(to)), true))
            }
            Self::Later(why) => Some((format!("It cannot be moved yet: {why}"), true)),
            Self::Not if to.is_some() => {
                let text = to.map(|to| format!("It will become {}", as_what(&to)));
                text.map(|text| (text, false))
            }
            Self::Not | Self::Kept(_) => {
                let why = stays?;
                let rest = why.strip_prefix("it").unwrap_or(why);
                Some((format!("It{rest}"), false))
            }
        }
    }
}

/// Returns the message about a successful move, logged once.
pub fn kept(to: Use) -> String {
    let so = match to {
        Use::Lan => "in the LAN",
        Use::Uplink => "as the uplink",
        Use::Mesh => "in the mesh",
        Use::None => "unused",
    };
    format!("It stays {so}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_is_told_where_a_port_goes_and_why_not() {
        let said = |moved: MoveState, stays, to| moved.said(stays, to);
        let see = |text: &str| Some((text.to_owned(), true));
        let know = |text: &str| Some((text.to_owned(), false));
        assert_eq!(said(MoveState::Not, None, None), None);
        let waits = said(MoveState::Not, None, Some(Use::Uplink));
        assert_eq!(waits, know("It will become the uplink"));
        let stays = said(MoveState::Not, Some("it stays, as it is"), None);
        assert_eq!(stays, know("It stays, as it is"));
        let back = MoveState::by(Use::Lan, &MoveResult::TakenBack);
        let text = "It cannot become part of the LAN: the new use did not work within a minute, so \
            weir restored the former use";
        assert_eq!(said(back, None, Some(Use::None)), see(text));
        let undone = MoveState::by(Use::Mesh, &MoveResult::Undone);
        let text = "It cannot become part of the mesh: another client took the change back";
        assert_eq!(said(undone, None, None), see(text));
        let kept = MoveState::by(Use::Lan, &MoveResult::Kept);
        assert!(kept.is_kept(Use::Lan) && !kept.is_kept(Use::None));
        assert_eq!(said(kept, None, None), None);
    }
}
