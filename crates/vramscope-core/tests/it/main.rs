//! Tests of the crate as a whole: one binary, one file per question.

mod compare;
mod encode;
mod naive;
mod second_opinion;
mod support;
