//! The writer held against what FORMAT.md says of each producer.

use super::*;
