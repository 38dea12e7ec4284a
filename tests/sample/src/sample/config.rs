//! `[sample]`.

use weir::config::{Section, table};

/// What this module has in the file.
pub const SECTIONS: [Section; 1] = [Section::of::<Greeting>("sample")];

table! {
    /// `[sample]`: whom to greet.
    Greeting {
        /// Who is greeted.
        Live whom: String = "the world".to_owned();
    }
}
