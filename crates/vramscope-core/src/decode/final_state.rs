//! Reads the dicts of the final state: segments, blocks and their tenants, annotations.

use std::ops::Range;

use super::key::Key;
use super::machine::Machine;
use super::records::{signed, text, unsigned, wrong_type};
use super::value::{Fault, ListCell, Record, RecordKind, Value};
use crate::ErrorKind;
use crate::ids::{EventId, StackId, StringId};
use crate::model::{
    Annotation, Block, BlockState, NO_TIME, Segment, SegmentKind, Stage, Tenant, WarningKind,
};

impl Machine {
    pub(super) fn read_segment(&mut self, start: usize) -> Result<Record, Fault> {
        let mut segment = Segment {
            device: 0,
            address: 0,
            total_size: 0,
            allocated_size: None,
            active_size: None,
            requested_size: None,
            stream: None,
            kind: None,
            pool: None,
            is_expandable: None,
            stack: StackId::ABSENT,
            blocks: 0..0,
        };
        for index in (start..self.stack.len()).step_by(2) {
            let (key, value) = self.pair_at(index);
            match key {
                Some(Key::Device) => segment.device = self.device(value)?,
                Some(Key::Address) if value == Value::None => {
                    self.warn(WarningKind::MissingKey("address of a segment".to_owned()));
                }
                Some(Key::Address) => segment.address = unsigned(value, Key::Address)?,
                Some(Key::TotalSize) => segment.total_size = unsigned(value, Key::TotalSize)?,
                Some(key @ Key::AllocatedSize) => {
                    segment.allocated_size = Some(unsigned(value, key)?)
                }
                Some(key @ Key::ActiveSize) => segment.active_size = Some(unsigned(value, key)?),
                Some(key @ Key::RequestedSize) => {
                    segment.requested_size = Some(unsigned(value, key)?)
                }
                Some(Key::Stream) => segment.stream = Some(signed(value, Key::Stream)?),
                Some(Key::SegmentType) => segment.kind = Some(self.segment_kind(value)?),
                Some(key @ Key::SegmentPoolId) => segment.pool = self.pool_value(value, key),
                Some(Key::IsExpandable) => {
                    segment.is_expandable = Some(signed(value, Key::IsExpandable)? != 0)
                }
                Some(Key::Frames) => segment.stack = self.stack_value(value, Key::Frames)?,
                Some(Key::Blocks) => {
                    segment.blocks = self.rows_value(value, RecordKind::Block, Key::Blocks)?
                }
                _ => self.unknown_key(RecordKind::Segment, index),
            }
        }
        self.budget.room(&mut self.tables.segments, 1)?;
        self.tables.segments.push(segment);
        Ok(Record {
            kind: RecordKind::Segment,
            row: self.tables.segments.len() as u32 - 1,
        })
    }

    fn device(&self, value: Value) -> Result<i32, Fault> {
        let device = signed(value, Key::Device)?;
        i32::try_from(device)
            .ok()
            .ok_or_else(|| wrong_type(Key::Device, "device index"))
    }

    fn segment_kind(&self, value: Value) -> Result<SegmentKind, Fault> {
        let id = text(value, Key::SegmentType)?;
        Ok(match self.tables.strings.get(id) {
            "small" => SegmentKind::Small,
            "large" => SegmentKind::Large,
            _ => SegmentKind::Other(id),
        })
    }

    pub(super) fn read_block(&mut self, start: usize) -> Result<Record, Fault> {
        let mut block = Block {
            address: 0,
            size: 0,
            requested_size: None,
            state: BlockState::Inactive,
            stack: StackId::ABSENT,
            forward_lines: None,
            history: None,
        };
        for index in (start..self.stack.len()).step_by(2) {
            let (key, value) = self.pair_at(index);
            match key {
                Some(key @ (Key::Address | Key::Addr)) => block.address = unsigned(value, key)?,
                Some(Key::Size) => block.size = unsigned(value, Key::Size)?,
                Some(key @ Key::RequestedSize) => {
                    block.requested_size = Some(unsigned(value, key)?)
                }
                Some(Key::State) => block.state = self.block_state(value)?,
                Some(Key::Frames) => block.stack = self.stack_value(value, Key::Frames)?,
                Some(Key::ForwardFrames) => block.forward_lines = self.lines_value(value)?,
                Some(Key::History) => {
                    block.history =
                        Some(self.rows_value(value, RecordKind::Tenant, Key::History)?);
                }
                _ => self.unknown_key(RecordKind::Block, index),
            }
        }
        self.budget.room(&mut self.tables.blocks.rows, 1)?;
        self.tables.blocks.rows.push(block);
        Ok(Record {
            kind: RecordKind::Block,
            row: self.tables.blocks.rows.len() as u32 - 1,
        })
    }

    pub(super) fn block_state(&self, value: Value) -> Result<BlockState, Fault> {
        let id = text(value, Key::State)?;
        Ok(match self.tables.strings.get(id) {
            "active_allocated" => BlockState::ActiveAllocated,
            // The second name occurs only in PyTorch's docstrings.
            "active_pending_free" | "active_awaiting_free" => BlockState::ActivePendingFree,
            "inactive" => BlockState::Inactive,
            _ => BlockState::Other(id),
        })
    }

    pub(super) fn read_tenant(&mut self, start: usize) -> Result<Record, Fault> {
        let mut tenant = Tenant {
            address: None,
            real_size: 0,
            stack: StackId::ABSENT,
        };
        for index in (start..self.stack.len()).step_by(2) {
            let (key, value) = self.pair_at(index);
            match key {
                Some(Key::Addr) => tenant.address = Some(unsigned(value, Key::Addr)?),
                Some(Key::RealSize) => tenant.real_size = unsigned(value, Key::RealSize)?,
                Some(Key::Frames) => tenant.stack = self.stack_value(value, Key::Frames)?,
                _ => self.unknown_key(RecordKind::Tenant, index),
            }
        }
        self.budget.room(&mut self.tables.blocks.tenants, 1)?;
        self.tables.blocks.tenants.push(tenant);
        Ok(Record {
            kind: RecordKind::Tenant,
            row: self.tables.blocks.tenants.len() as u32 - 1,
        })
    }

    pub(super) fn read_annotation(&mut self, start: usize) -> Result<Record, Fault> {
        let mut annotation = Annotation {
            stage: Stage::Start,
            name: StringId(0),
            device: 0,
            time_us: NO_TIME,
            range: None,
            thread: None,
            domain: None,
            stream: None,
            colour: None,
            category: None,
            payload: None,
        };
        for index in (start..self.stack.len()).step_by(2) {
            let (key, value) = self.pair_at(index);
            match key {
                Some(Key::Stage) => {
                    let id = text(value, Key::Stage)?;
                    annotation.stage = match self.tables.strings.get(id) {
                        "START" => Stage::Start,
                        "END" => Stage::End,
                        _ => Stage::Other(id),
                    };
                }
                Some(Key::Name) => annotation.name = text(value, Key::Name)?,
                Some(Key::Device) => annotation.device = self.device(value)?,
                Some(Key::TimeUs) => annotation.time_us = signed(value, Key::TimeUs)?,
                Some(Key::Range) => annotation.range = Some(unsigned(value, Key::Range)?),
                Some(Key::Thread) => annotation.thread = Some(unsigned(value, Key::Thread)?),
                Some(Key::Domain) => annotation.domain = Some(text(value, Key::Domain)?),
                Some(Key::Stream) => annotation.stream = Some(signed(value, Key::Stream)?),
                Some(Key::Color) => annotation.colour = Some(unsigned(value, Key::Color)? as u32),
                Some(Key::Category) => annotation.category = Some(text(value, Key::Category)?),
                Some(Key::Payload) => annotation.payload = Some(text(value, Key::Payload)?),
                _ => self.unknown_key(RecordKind::Annotation, index),
            }
        }
        self.budget.room(&mut self.tables.annotations.rows, 1)?;
        self.tables.annotations.rows.push(annotation);
        Ok(Record {
            kind: RecordKind::Annotation,
            row: self.tables.annotations.rows.len() as u32 - 1,
        })
    }

    /// Takes the rows of a list of records, as a range. If they are not contiguous, they are copied to the end of their
    /// table.
    pub(super) fn rows_value(
        &mut self,
        value: Value,
        wanted: RecordKind,
        key: Key,
    ) -> Result<Range<u32>, Fault> {
        let Value::List(list) = value else {
            return Err(wrong_type(key, "list"));
        };
        let rows = match self.lists[list as usize] {
            ListCell::Empty => return Ok(0..0),
            ListCell::Rows { kind, start, count } if kind == wanted => start..start + count,
            ListCell::UsedRows => {
                let kind = ErrorKind::Malformed("the same list is used in two places".to_owned());
                return Err(Fault {
                    kind,
                    field: Some(key.text()),
                });
            }
            cell => {
                let values = self.list_values(cell)?;
                let mut copies = self.budget.list(values.len())?;
                for (index, item) in values.into_iter().enumerate() {
                    match item {
                        Value::Record(record) if record.kind == wanted => copies.push(record.row),
                        _ => {
                            let what = format!("item {index} is no {}", wanted.word());
                            let kind = ErrorKind::Malformed(what);
                            return Err(Fault {
                                kind,
                                field: Some(key.text()),
                            });
                        }
                    }
                }
                self.copy_rows(wanted, &copies)?
            }
        };
        // Rows have one owner. Otherwise a small file could make sums over all owners cost any amount of work.
        self.lists[list as usize] = ListCell::UsedRows;
        Ok(rows)
    }

    fn copy_rows(&mut self, kind: RecordKind, rows: &[u32]) -> Result<Range<u32>, Fault> {
        let tables = &mut self.tables;
        let start = match kind {
            RecordKind::Event => tables.events.len(),
            RecordKind::Segment => tables.segments.len(),
            RecordKind::Block => tables.blocks.rows.len(),
            RecordKind::Tenant => tables.blocks.tenants.len(),
            RecordKind::Annotation => tables.annotations.rows.len(),
            RecordKind::Frame => return Ok(0..0),
        };
        let budget = &mut self.budget;
        match kind {
            RecordKind::Segment => budget.room(&mut tables.segments, rows.len())?,
            RecordKind::Block => budget.room(&mut tables.blocks.rows, rows.len())?,
            RecordKind::Tenant => budget.room(&mut tables.blocks.tenants, rows.len())?,
            RecordKind::Annotation => budget.room(&mut tables.annotations.rows, rows.len())?,
            RecordKind::Event | RecordKind::Frame => {}
        }
        for &row in rows {
            let row = row as usize;
            match kind {
                RecordKind::Event => {
                    let event = self.tables.events.get(EventId::from_index(row));
                    self.add_event(event)?;
                }
                RecordKind::Segment => {
                    let segment = self.tables.segments[row].clone();
                    self.tables.segments[row].blocks = 0..0;
                    self.tables.segments.push(segment);
                }
                RecordKind::Block => {
                    let block = self.tables.blocks.rows[row].clone();
                    self.tables.blocks.rows[row].history = None;
                    self.tables.blocks.rows.push(block);
                }
                RecordKind::Tenant => self
                    .tables
                    .blocks
                    .tenants
                    .push(self.tables.blocks.tenants[row]),
                RecordKind::Annotation => {
                    self.tables
                        .annotations
                        .rows
                        .push(self.tables.annotations.rows[row]);
                }
                RecordKind::Frame => {}
            }
        }
        Ok(start as u32..(start + rows.len()) as u32)
    }
}
