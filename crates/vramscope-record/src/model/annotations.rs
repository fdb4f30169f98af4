//! The program's annotated ranges: matches each end with its beginning.

use std::collections::{HashMap, VecDeque};

use vramscope_core::model::Stage;

use crate::layout::{self, AnnotationOp, Attributes, ON_STREAM};

/// One end of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) stage: Stage,
    /// Numbers of texts.
    pub(crate) name: u32,
    pub(crate) domain: u32,
    /// Identifies the range: the same for both of its ends, unique among ranges.
    pub(crate) range: u64,
    pub(crate) thread: u32,
    /// The stream that orders it.
    pub(crate) stream: Option<u64>,
    pub(crate) device: i32,
    pub(crate) time_us: i64,
    pub(crate) attributes: Attributes,
}

/// Owner of a stack of pushed ranges: a thread, or a stream for ranges ordered by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Owner {
    Thread(u32),
    Stream(u64),
}

/// Annotations of the whole program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations {
    pub(crate) marks: VecDeque<Mark>,
    /// Maximum number of marks to keep.
    max_marks: Option<usize>,
    /// Beginnings of ranges pushed and not yet popped, by owner and domain.
    pushed: HashMap<(Owner, u32), Vec<Mark>>,
    /// Beginnings of ranges started and not yet ended, by number. Numbers are unique in a program, as an end
    /// carries no domain.
    started: HashMap<u64, Mark>,
    last_range: u64,
    pub(crate) unmatched_ends: u64,
}

impl Annotations {
    pub(crate) fn new(max_marks: Option<usize>) -> Self {
        Self {
            max_marks,
            ..Self::default()
        }
    }

    /// Applies a record at time `time_us`.
    pub(crate) fn push(
        &mut self,
        record: &layout::Annotation,
        attributes: Attributes,
        time_us: i64,
    ) {
        let Some(op) = AnnotationOp::of_number(record.op) else {
            return;
        };
        let stream = (record.flags & ON_STREAM != 0).then_some(record.stream);
        let owner = stream.map_or(Owner::Thread(record.thread), Owner::Stream);
        let beginning = Mark {
            stage: Stage::Start,
            name: record.name,
            domain: record.domain,
            range: self.last_range + 1,
            thread: record.thread,
            stream,
            device: i32::from(record.device.max(layout::NO_DEVICE)),
            time_us,
            attributes,
        };
        // An end takes everything else from its beginning.
        let end_of = |beginning: Mark| Mark {
            stage: Stage::End,
            thread: record.thread,
            time_us,
            ..beginning
        };
        let end = match op {
            AnnotationOp::Push => {
                let stack = self.pushed.entry((owner, record.domain)).or_default();
                stack.push(beginning);
                None
            }
            AnnotationOp::Start => {
                self.started.insert(record.range, beginning);
                None
            }
            AnnotationOp::Mark => Some(end_of(beginning)),
            AnnotationOp::Pop | AnnotationOp::End => {
                let beginning = match op {
                    AnnotationOp::Pop => {
                        let stack = self.pushed.get_mut(&(owner, record.domain));
                        stack.and_then(Vec::pop)
                    }
                    _ => self.started.remove(&record.range),
                };
                match beginning {
                    Some(beginning) => self.keep(end_of(beginning)),
                    None => self.unmatched_ends += 1,
                }
                return;
            }
        };
        self.last_range += 1;
        self.keep(beginning);
        if let Some(end) = end {
            self.keep(end);
        }
    }

    fn keep(&mut self, mark: Mark) {
        let max_marks = self.max_marks.unwrap_or(usize::MAX);
        if max_marks == 0 {
            return;
        }
        while self.marks.len() >= max_marks {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(op: AnnotationOp, name: u32, thread: u32) -> layout::Annotation {
        layout::Annotation {
            op: op as u8,
            name,
            thread,
            ..layout::Annotation::default()
        }
    }

    fn marks_of(annotations: &Annotations) -> Vec<(Stage, u32, u64, u32)> {
        let marks = annotations.marks.iter();
        marks
            .map(|mark| (mark.stage, mark.name, mark.range, mark.thread))
            .collect()
    }

    #[test]
    fn threads_and_domains_nest_by_themselves() {
        let mut annotations = Annotations::default();
        annotations.push(&record(AnnotationOp::Push, 1, 10), Attributes::default(), 0);
        annotations.push(&record(AnnotationOp::Push, 2, 20), Attributes::default(), 1);
        let in_domain = layout::Annotation {
            domain: 5,
            ..record(AnnotationOp::Push, 3, 10)
        };
        annotations.push(&in_domain, Attributes::default(), 2);
        annotations.push(&record(AnnotationOp::Pop, 0, 10), Attributes::default(), 3);
        annotations.push(&record(AnnotationOp::Pop, 0, 10), Attributes::default(), 4);
        annotations.push(&record(AnnotationOp::Mark, 4, 10), Attributes::default(), 5);
        use Stage::{End, Start};
        assert_eq!(
            marks_of(&annotations),
            [
                (Start, 1, 1, 10),
                (Start, 2, 2, 20),
                (Start, 3, 3, 10),
                (End, 1, 1, 10),
                (Start, 4, 4, 10),
                (End, 4, 4, 10),
            ]
        );
        assert_eq!(annotations.unmatched_ends, 1);
    }

    #[test]
    fn a_started_range_may_end_on_another_thread_and_after_a_newer_one() {
        let mut annotations = Annotations::new(Some(3));
        for (op, name, range, thread) in [
            (AnnotationOp::Start, 1, 7, 10),
            (AnnotationOp::Start, 2, 8, 10),
            (AnnotationOp::End, 0, 7, 20),
            (AnnotationOp::End, 0, 8, 10),
            (AnnotationOp::End, 0, 8, 10),
        ] {
            let record = layout::Annotation {
                range,
                ..record(op, name, thread)
            };
            annotations.push(&record, Attributes::default(), 0);
        }
        use Stage::{End, Start};
        assert_eq!(
            marks_of(&annotations),
            [(Start, 2, 2, 10), (End, 1, 1, 20), (End, 2, 2, 10)],
            "the newest three"
        );
        assert_eq!(annotations.unmatched_ends, 1);
    }
}
