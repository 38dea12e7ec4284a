//! Files to snapshots.
