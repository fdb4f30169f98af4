//! Snapshots in other tools' formats: a file each.
