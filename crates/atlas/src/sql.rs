//! sql.
