//! Finds what was running at each memory event of a trace: the operators and functions on its thread that had begun and
//! not ended, innermost first, as in snapshots.

use std::cmp::Reverse;

use super::{Move, Span, Trace};
use crate::decode::machine::Machine;
use crate::decode::value::Fault;
use crate::ids::{ContextId, StackId, StringId};
use crate::model::Context;

/// Most spans open at once. Python itself stops at 1,000 nested functions.
const MOST_OPEN: usize = 4096;

impl Trace {
    /// Fills in the stack and context of each memory event. Afterwards spans and events are by thread and time.
    pub(super) fn find_stacks(&mut self, machine: &mut Machine) -> Result<(), Fault> {
        let by_time = |span: &Span| (span.thread, span.start_ns, Reverse(span.end_ns), span.row);
        self.spans.sort_unstable_by_key(by_time);
        let by_time = |moved: &Move| (moved.thread, moved.time_ns, moved.row);
        self.moves.sort_unstable_by_key(by_time);
        let mut open = Open::default();
        let mut next = 0;
        let mut moves = std::mem::take(&mut self.moves);
        for moved in &mut moves {
            if open.thread != moved.thread {
                open = Open {
                    thread: moved.thread,
                    ..Open::default()
                };
                next += self.spans[next..].partition_point(|span| span.thread < moved.thread);
            }
            while let Some(span) = self.spans.get(next)
                && (span.thread, span.start_ns) <= (moved.thread, moved.time_ns)
            {
                open.begin(&self.spans, next);
                next += 1;
            }
            open.end_before(&self.spans, moved.time_ns);
            let running = open.running(&self.spans, moved.time_ns);
            moved.stack = self.stack(running.clone(), machine)?;
            let is_alloc = moved.bytes > 0;
            let mut operators = running.filter(|span| is_alloc && span.inputs != StringId(0));
            moved.context = self.context(operators.next(), machine)?;
        }
        self.moves = moves;
        Ok(())
    }

    fn stack<'s>(
        &self,
        running: impl Iterator<Item = &'s Span>,
        machine: &mut Machine,
    ) -> Result<StackId, Fault> {
        if self.spans.is_empty() {
            return Ok(StackId::ABSENT);
        }
        let frames = running.map(|span| span.frame.0);
        Ok(machine
            .tables
            .stack_of_frames(frames, &mut machine.budget)?)
    }

    /// A context that has the inputs of an operator: `aten::addmm(float[64], float[128, 32], float[32, 64])`.
    fn context(&self, operator: Option<&Span>, machine: &mut Machine) -> Result<ContextId, Fault> {
        let mut context = Context::default();
        if let Some(span) = operator {
            let tables = &machine.tables;
            let name = tables.strings.get(tables.frames.get(span.frame).name);
            let text = format!("{name}{}", self.inputs.get(span.inputs));
            context.user_metadata = Some(machine.intern(&text)?);
        }
        let budget = &mut machine.budget;
        Ok(machine.tables.context(context, budget)?)
    }
}

/// The spans of a thread that may be running, by row, outermost first.
#[derive(Default)]
struct Open {
    thread: u32,
    spans: Vec<u32>,
    /// The span that began last, whether or not it is still running.
    last: Option<u32>,
}

impl Open {
    fn begin(&mut self, spans: &[Span], row: usize) {
        let begun = &spans[row];
        self.last = Some(row as u32);
        while self
            .last_end(spans)
            .is_some_and(|end| end <= begun.start_ns)
        {
            self.spans.pop();
        }
        if self.spans.len() == MOST_OPEN {
            // Unlike functions, spans may end before others that began inside them.
            self.spans
                .retain(|&open| spans[open as usize].end_ns > begun.start_ns);
        }
        if self.spans.len() < MOST_OPEN {
            self.spans.push(row as u32);
        }
    }

    fn end_before(&mut self, spans: &[Span], time_ns: i64) {
        while self.last_end(spans).is_some_and(|end| end < time_ns) {
            self.spans.pop();
        }
    }

    fn last_end(&self, spans: &[Span]) -> Option<i64> {
        let last = *self.spans.last()?;
        Some(spans[last as usize].end_ns)
    }

    /// The spans running at this time, innermost first. A span that ends at this time still counts, unless another begins.
    fn running<'s>(
        &'s self,
        spans: &'s [Span],
        time_ns: i64,
    ) -> impl Iterator<Item = &'s Span> + Clone {
        let last = self
            .last
            .filter(|&row| spans[row as usize].start_ns == time_ns);
        let open = self.spans.iter().rev().copied();
        open.filter(move |&row| {
            let end = spans[row as usize].end_ns;
            end > time_ns || end == time_ns && last.is_none_or(|last| last == row)
        })
        .map(|row| &spans[row as usize])
    }
}
