//! The commands that concern one device.

use std::collections::BTreeMap;

use super::line::{Tail, Word, address, size, unquoted, word};
use super::run::Done;
use crate::allocator::{
    Arena, HeapOptions, SMALL_LIMIT_BYTES, SegmentEvent, SegmentEventKind, round_size,
};
use crate::recorder::{Allocation, Recorder, Request};
use crate::snapshot::{Action, StackRef, Text, TraceEntry};

/// Whether the allocator and the trace take part in a line.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Truth {
    Both,
    Unrecorded,
    Phantom,
}

#[derive(Debug)]
pub(super) struct Device {
    pub(super) recorder: Recorder<Vec<TraceEntry>>,
    pub(super) names: BTreeMap<String, Allocation>,
    pub(super) options: HeapOptions,
    pub(super) drop_first: usize,
}

impl Device {
    /// Runs one command; `stack` is the number of the stack at the end of its line.
    pub(super) fn command(
        &mut self,
        words: &[Word<'_>],
        tail: &Tail,
        stack: Option<u32>,
        truth: Truth,
    ) -> Done {
        match word(words, 0)? {
            "alloc" => self.alloc(words, tail, stack, truth),
            "free" => self.free(word(words, 1)?, stack, truth, true, true),
            "free_requested" => self.free(word(words, 1)?, stack, truth, true, false),
            "free_completed" => self.free(word(words, 1)?, stack, truth, false, true),
            "segment" => self.segment(words, tail, stack, truth, SegmentEventKind::Alloc),
            "map" => self.segment(words, tail, stack, truth, SegmentEventKind::Map),
            "segment_free" => self.segment_free(words, truth),
            "unmap" => self.unmap(words, truth),
            "annotate" => {
                let allocation = self.named(word(words, 1)?)?;
                self.recorder
                    .annotate(allocation, unquoted(word(words, 2)?).to_owned());
                Ok(())
            }
            "oom" => {
                let rounded = round_size(size(word(words, 1)?)?);
                let free = tail.free.ok_or("an oom needs free=SIZE")?;
                let frames = stack.map(|stack| self.recorder.new_list(stack));
                let place = (tail.stream.unwrap_or(0), tail.pool.unwrap_or_default());
                self.recorder
                    .record(Action::Oom, free, rounded, place, frames);
                Ok(())
            }
            "snapshot" => {
                self.recorder.snapshot();
                Ok(())
            }
            "empty_cache" => {
                self.recorder.empty_cache();
                Ok(())
            }
            "event" => {
                let action = Action::Other(Text::Owned(word(words, 1)?.to_owned()));
                let (addr, bytes) = (address(word(words, 2)?)?, size(word(words, 3)?)?);
                let frames = stack.map(|stack| self.recorder.new_list(stack));
                let place = (tail.stream.unwrap_or(0), tail.pool.unwrap_or_default());
                self.recorder.record(action, addr, bytes, place, frames);
                Ok(())
            }
            other => Err(format!("{other:?} is no command")),
        }
    }

    fn named(&self, name: &str) -> Result<Allocation, String> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| format!("{name:?} is not allocated here"))
    }

    fn alloc(&mut self, words: &[Word<'_>], tail: &Tail, stack: Option<u32>, truth: Truth) -> Done {
        let (name, bytes) = (word(words, 1)?, size(word(words, 2)?)?);
        if truth != Truth::Phantom && self.names.contains_key(name) {
            return Err(format!("{name:?} is allocated already"));
        }
        let Some(addr) = tail.at else {
            if truth == Truth::Phantom {
                return Err("a phantom needs an address".to_owned());
            }
            let (stream, pool) = (tail.stream.unwrap_or(0), tail.pool.unwrap_or_default());
            let placed = self.recorder.alloc(Request {
                bytes,
                stream,
                pool,
                stack,
            });
            // Running out of memory is no error of the text: the trace has the oom entry.
            if let Ok(allocation) = placed {
                self.names.insert(name.to_owned(), allocation);
            }
            return Ok(());
        };
        let frames = stack.map(|stack| self.recorder.new_list(stack));
        let own = self.recorder.heap.arena_at(addr).unwrap_or_default();
        let stream = tail.stream.unwrap_or(own.stream);
        let pool = tail.pool.unwrap_or(own.pool);
        if truth != Truth::Phantom {
            self.make_room(addr, bytes, tail, frames)?;
            if !self.recorder.heap.malloc_at(addr, bytes, frames) {
                return Err(format!("{bytes} bytes at {addr:#x} are not free"));
            }
        }
        self.recorder
            .record(Action::Alloc, addr, bytes, (stream, pool), frames);
        self.names.insert(
            name.to_owned(),
            Allocation {
                addr,
                bytes,
                stream,
                pool,
                frames,
            },
        );
        Ok(())
    }

    /// Makes a segment around an address that is in no segment.
    fn make_room(&mut self, addr: u64, bytes: u64, tail: &Tail, frames: Option<StackRef>) -> Done {
        if self.recorder.heap.arena_at(addr).is_some() {
            return Ok(());
        }
        let pool = tail.pool.unwrap_or_default();
        let arena = Arena::of(bytes, tail.stream.unwrap_or(0), pool);
        let size = crate::allocator::segment_size(round_size(bytes));
        if !self.recorder.heap.add_segment(addr, size, arena, frames) {
            return Err(format!(
                "a segment of {size} bytes at {addr:#x} would overlap another"
            ));
        }
        let event = SegmentEvent {
            kind: SegmentEventKind::Alloc,
            addr,
            size,
            arena,
            frames,
        };
        self.recorder.segment(event, None);
        Ok(())
    }

    fn free(
        &mut self,
        name: &str,
        stack: Option<u32>,
        truth: Truth,
        requests: bool,
        completes: bool,
    ) -> Done {
        let allocation = self.named(name)?;
        let frames = stack
            .map(|stack| self.recorder.new_list(stack))
            .or(allocation.frames);
        let place = (allocation.stream, allocation.pool);
        let (addr, bytes) = (allocation.addr, allocation.bytes);
        if requests {
            if truth != Truth::Phantom && !self.recorder.heap.request_free(addr) {
                return Err(format!("{name:?} is not in use"));
            }
            self.recorder
                .record(Action::FreeRequested, addr, bytes, place, frames);
        }
        if completes {
            if truth != Truth::Phantom {
                self.recorder.heap.complete_free(addr);
                self.names.remove(name);
            }
            if requests {
                // Adjacent entries with the same time.
                self.recorder.clock_us -= 1;
            }
            self.recorder
                .record(Action::FreeCompleted, addr, bytes, place, frames);
        }
        Ok(())
    }

    fn segment(
        &mut self,
        words: &[Word<'_>],
        tail: &Tail,
        stack: Option<u32>,
        truth: Truth,
        kind: SegmentEventKind,
    ) -> Done {
        let (addr, size) = (address(word(words, 1)?)?, size(word(words, 2)?)?);
        let frames = stack.map(|stack| self.recorder.new_list(stack));
        let arena = Arena {
            pool: tail.pool.unwrap_or_default(),
            stream: tail.stream.unwrap_or(0),
            is_small: tail.is_small.unwrap_or(size <= 2 * SMALL_LIMIT_BYTES),
        };
        let heap = &mut self.recorder.heap;
        let is_done = truth == Truth::Phantom
            || match kind {
                SegmentEventKind::Map => heap.map(addr, size, arena, frames),
                _ => heap.add_segment(addr, size, arena, frames),
            };
        if !is_done {
            return Err(format!("{size} bytes at {addr:#x} overlap another segment"));
        }
        self.recorder.segment(
            SegmentEvent {
                kind,
                addr,
                size,
                arena,
                frames,
            },
            None,
        );
        Ok(())
    }

    fn segment_free(&mut self, words: &[Word<'_>], truth: Truth) -> Done {
        let addr = address(word(words, 1)?)?;
        let heap = &mut self.recorder.heap;
        let known = heap.segments(0).into_iter().find(|s| s.address == addr);
        let segment = known.ok_or_else(|| format!("no segment starts at {addr:#x}"))?;
        if truth != Truth::Phantom && !heap.remove_segment(addr) {
            return Err("the segment is in use".to_owned());
        }
        let arena = Arena {
            pool: segment.pool,
            stream: segment.stream,
            is_small: segment.is_small,
        };
        let (size, frames) = (segment.total_size, segment.frames);
        let event = SegmentEvent {
            kind: SegmentEventKind::Free,
            addr,
            size,
            arena,
            frames,
        };
        self.recorder.segment(event, None);
        Ok(())
    }

    fn unmap(&mut self, words: &[Word<'_>], truth: Truth) -> Done {
        let (addr, size) = (address(word(words, 1)?)?, size(word(words, 2)?)?);
        let arena = self.recorder.heap.arena_at(addr).unwrap_or_default();
        if truth != Truth::Phantom && !self.recorder.heap.unmap(addr, size) {
            return Err(format!("{size} bytes at {addr:#x} are not mapped and free"));
        }
        let kind = SegmentEventKind::Unmap;
        self.recorder.segment(
            SegmentEvent {
                kind,
                addr,
                size,
                arena,
                frames: None,
            },
            None,
        );
        Ok(())
    }
}
