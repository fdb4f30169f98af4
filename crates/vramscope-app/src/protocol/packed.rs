//! Questions and answers within messages: as bytes of their own, so that a first picture takes only the code for its
//! own kinds. These are the first three of the list. The bytes are the same where [`Part::Whole`] is there, which
//! knows all kinds.

use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::views::overview::FileDetailsOf;
use super::{
    Answer, BandLabels, BandLabelsOf, Curve, DrawRequest, DrawnFrame, Part, Question, ReservedOf,
    from_bytes, reply_bytes, to_bytes,
};
use crate::parts::{apart, is_here};

/// The kinds of a first picture, in the order of all.
#[derive(Serialize, Deserialize)]
enum First<D, L, R> {
    Draw(D),
    BandLabels(L),
    Reserved(R),
}

type FirstQuestion = First<DrawRequest, BandLabelsOf, ReservedOf>;
type FirstAnswer = First<Box<DrawnFrame>, Box<BandLabels>, Box<Curve>>;

/// The number of its kinds.
const FIRST: u32 = 3;

/// A question in a message.
pub(super) mod question {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(question: &Question, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&question_bytes(question))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Box<Question>, D::Error> {
        let bytes = from.deserialize_bytes(Slice)?;
        // One that cannot be read is of another version, which is not to be.
        let question = question_of(bytes).unwrap_or(Question::FileDetails(FileDetailsOf));
        Ok(Box::new(question))
    }
}

/// An answer in a message; empty if there is none.
pub(super) mod answer {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        answer: &Option<Answer>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let bytes = answer.as_ref().map(answer_bytes);
        to.serialize_bytes(&bytes.unwrap_or_default())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Answer>, D::Error> {
        Ok(answer_of(from.deserialize_bytes(Slice)?))
    }
}

struct Slice;

impl<'de> Visitor<'de> for Slice {
    type Value = &'de [u8];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<&'de [u8], E> {
        Ok(bytes)
    }
}

/// Whether bytes begin with a kind of a first picture.
fn is_first(bytes: &[u8]) -> bool {
    let number = bytes.first_chunk().copied().map(u32::from_le_bytes);
    number.is_some_and(|number| number < FIRST)
}

fn question_bytes(question: &Question) -> Vec<u8> {
    match is_here(Part::Whole) {
        true => any_question_bytes(question),
        false => first_question_bytes(question),
    }
}

fn question_of(bytes: &[u8]) -> Option<Question> {
    match is_here(Part::Whole) {
        true => any_question_of(bytes),
        false => first_question_of(bytes),
    }
}

fn answer_bytes(answer: &Answer) -> Vec<u8> {
    match is_here(Part::Whole) {
        true => any_answer_bytes(answer),
        false => first_answer_bytes(answer),
    }
}

fn answer_of(bytes: &[u8]) -> Option<Answer> {
    match is_here(Part::Whole) {
        true => any_answer_of(bytes),
        false => first_answer_of(bytes),
    }
}

apart! { "mini", "67",
    fn first_question_bytes(question: &Question) -> Vec<u8> {
        to_bytes(&match question {
            Question::Draw(of) => First::Draw(of),
            Question::BandLabels(of) => First::BandLabels(of),
            Question::Reserved(of) => First::Reserved(of),
            // Asked only once the part is there.
            _ => return Vec::new(),
        })
    }
}

apart! { "mini", "68",
    fn first_question_of(bytes: &[u8]) -> Option<Question> {
        if !is_first(bytes) {
            return None;
        }
        Some(match from_bytes::<FirstQuestion>(bytes).ok()? {
            First::Draw(of) => Question::Draw(of),
            First::BandLabels(of) => Question::BandLabels(of),
            First::Reserved(of) => Question::Reserved(of),
        })
    }
}

apart! { "mini", "69",
    fn first_answer_bytes(answer: &Answer) -> Vec<u8> {
        reply_bytes(&match answer {
            Answer::Draw(answer) => First::Draw(answer),
            Answer::BandLabels(answer) => First::BandLabels(answer),
            Answer::Reserved(answer) => First::Reserved(answer),
            _ => return Vec::new(),
        })
    }
}

apart! { "mini", "6a",
    fn first_answer_of(bytes: &[u8]) -> Option<Answer> {
        if !is_first(bytes) {
            return None;
        }
        Some(match from_bytes::<FirstAnswer>(bytes).ok()? {
            First::Draw(answer) => Answer::Draw(answer),
            First::BandLabels(answer) => Answer::BandLabels(answer),
            First::Reserved(answer) => Answer::Reserved(answer),
        })
    }
}

apart! { "whole", "61",
    fn any_question_bytes(question: &Question) -> Vec<u8> {
        to_bytes(question)
    }
}

apart! { "whole", "62",
    fn any_question_of(bytes: &[u8]) -> Option<Question> {
        from_bytes(bytes).ok()
    }
}

apart! { "whole", "63",
    fn any_answer_bytes(answer: &Answer) -> Vec<u8> {
        reply_bytes(answer)
    }
}

apart! { "whole", "64",
    fn any_answer_of(bytes: &[u8]) -> Option<Answer> {
        from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_a_first_picture_are_the_first_of_all() {
        let curve = Curve {
            x_max: 2.0,
            ..Curve::default()
        };
        let asked = DrawRequest {
            look: super::super::Look::default(),
            viewport: super::super::Viewport::fit_all(&super::super::Bounds::default(), 3, 2),
        };
        let reserved = ReservedOf {
            device: 1,
            axis: super::super::Axis::Time,
            viewport: asked.viewport,
        };
        let labels = BandLabelsOf {
            draw: asked.clone(),
            pixel_ratio: 2.0,
        };
        for question in [
            Question::Draw(asked),
            Question::BandLabels(labels),
            Question::Reserved(reserved),
        ] {
            let bytes = first_question_bytes(&question);
            assert_eq!(bytes, question_bytes(&question));
            assert_eq!(first_question_of(&bytes), Some(question));
        }
        let answer = Answer::Reserved(Box::new(curve));
        let bytes = first_answer_bytes(&answer);
        assert_eq!(bytes, answer_bytes(&answer));
        assert_eq!(first_answer_of(&bytes), Some(answer));
        let other = Question::FileDetails(FileDetailsOf);
        assert_eq!(first_question_of(&question_bytes(&other)), None);
        assert_eq!(question_of(&question_bytes(&other)), Some(other));
    }
}
