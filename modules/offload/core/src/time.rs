//! Time as the core counts it.

/// A monotonic clock in milliseconds; its zero means nothing.
pub type Millis = u64;
