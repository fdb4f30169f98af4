//! Tests of the crate as a whole: one binary, one file per question.

mod compare;
mod crashes;
mod encode;
mod fixtures;
mod golden;
mod hostile;
mod laws;
mod naive;
mod official;
mod real;
mod second_opinion;
mod support;
