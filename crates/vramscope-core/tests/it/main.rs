//! Tests of the crate as a whole: one binary, one file per question.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod allocator_state;
mod anonymise;
mod call_tree;
mod captured;
mod compare;
mod cut;
mod damage;
mod differences;
mod encode;
mod fixtures;
mod freed;
mod golden;
mod hostile;
mod lanes;
mod laws;
mod naive;
mod official;
mod overview;
mod pools;
mod profiler;
mod random;
mod real;
mod recorded;
mod role_truth;
mod roles;
mod second_opinion;
mod sharing;
mod support;
mod tables;
mod vram_format;
