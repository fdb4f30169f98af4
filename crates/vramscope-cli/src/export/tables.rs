//! The rows of a file's tables, for CSV and Parquet.

use vramscope_core::analysis::filter::{self, FilterIndex};
use vramscope_core::analysis::grouping::GroupColumn;
use vramscope_core::tables::{DeviceTables, Table, Write, for_each_row};

use crate::arguments::{GroupWord, Grouping};
use crate::failure::Failure;
use crate::subject::{Device, Subject};

/// What the tables of a file are made from.
pub(crate) struct Source<'a> {
    subject: &'a Subject,
    pub(super) devices: Vec<Prepared<'a>>,
}

/// A device, and what is looked up of each of its allocations.
pub(super) struct Prepared<'a> {
    pub(super) device: Device<'a>,
    index: FilterIndex,
    annotations: GroupColumn,
}

impl<'a> Source<'a> {
    /// Prepares all devices that were asked for.
    pub(crate) fn of(subject: &'a Subject) -> Self {
        let grouping = Grouping {
            group_by: GroupWord::Annotation,
            depth: 1,
        };
        let devices = subject.devices().map(|device| Prepared {
            index: FilterIndex::of(&subject.snapshot, device.history),
            annotations: device.groups(grouping),
            device,
        });
        Self {
            subject,
            devices: devices.collect(),
        }
    }

    /// Hands out the rows of a table.
    ///
    /// # Errors
    /// The first of `write`.
    pub(super) fn for_each(
        &self,
        table: Table,
        write: &mut Write<'_, Failure>,
    ) -> Result<(), Failure> {
        let devices: Vec<_> = self.devices.iter().map(Prepared::tables).collect();
        for_each_row(
            table,
            &self.subject.snapshot,
            &self.subject.classes,
            &devices,
            write,
        )
    }
}

impl Prepared<'_> {
    /// Hands out the rows of a table of this device.
    ///
    /// # Errors
    /// The first of `write`.
    pub(super) fn for_each(
        &self,
        table: Table,
        write: &mut Write<'_, Failure>,
    ) -> Result<(), Failure> {
        let Subject {
            snapshot, classes, ..
        } = self.device.subject;
        for_each_row(table, snapshot, classes, &[self.tables()], write)
    }

    fn tables(&self) -> DeviceTables<'_> {
        DeviceTables {
            subject: filter_subject(&self.device, &self.index),
            lanes: self.device.lanes(),
            sums: self.device.sums(),
            annotations: &self.annotations,
        }
    }
}

/// A device as core's questions about single allocations want it.
pub(super) fn filter_subject<'a>(
    device: &'a Device<'_>,
    index: &'a FilterIndex,
) -> filter::Subject<'a> {
    filter::Subject {
        snapshot: &device.subject.snapshot,
        history: device.history,
        index,
        call_sites: &device.subject.sites,
        site_of: device.site_of(),
        ranges: &device.subject.ranges,
        streams: &device.subject.streams,
        cursor: None,
        range: None,
    }
}
