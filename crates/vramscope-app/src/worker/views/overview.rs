//! Answers to [`protocol::views::overview`](crate::protocol::views::overview).

use super::super::document::Document;
use crate::protocol::Extra;
use crate::protocol::views::overview::{Answer, Question};

/// What is kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    _document: &Document,
    _cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    match *question {}
}
