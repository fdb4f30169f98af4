//! `vramscope trace`: the recorded events as a log in the form of a program.
//!
//! It improves on torch's `trace`: mapped memory, snapshots and notes are lines like the others (torch prints whole
//! dicts), and the last line says what is live (torch prints a bare number).

use std::io::{self, Write};

use clap::Args;
use vramscope_core::analysis::code::frames::{FrameClass, Location};
use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::analysis::report::block_stacks::official_address;
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::analysis::time::trace_names::{Holder, Step};
use vramscope_core::cut::is_of_freed;
use vramscope_core::model::{Action, Event};
use vramscope_core::units::TorchBytes;

use crate::arguments::Snapshots;
use crate::failure::Failure;
use crate::harmless::{printable, printable_cell};
use crate::inputs::one_by_one;
use crate::output::stream;
use crate::subject::{Device, Subject};

/// Print the recorded events as a log that reads like a program
///
/// As torch's `_memory_viz.py trace`: every allocation gets a name, `a = seg_0[512:24.0MiB]` says where it lies,
/// `del a` frees it. Sizes are as requested, addresses decimal.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Snapshots,
    /// Only the events between two moments: numbers of events, times, annotations, peak, oom
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// Up to N frames of its stack below each event, innermost first
    #[arg(long, value_name = "N", default_value_t = 0)]
    frames: usize,
    /// Leave out allocations that were both allocated and freed while recording
    #[arg(long)]
    filter_freed: bool,
    /// Print the event's number, and live bytes after it, before each line
    #[arg(long)]
    numbers: bool,
    /// Print sizes in bytes
    #[arg(long)]
    bytes: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope trace snapshot.pickle | less
  vramscope trace snapshot.pickle --numbers --frames 3 --range 1000..1100
  vramscope trace snapshot.pickle --range ..peak --filter-freed   what was made until the peak and never freed";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    one_by_one(&options.inputs, |subject, is_one_of_several| {
        let logs = options.logs(subject)?;
        stream(|out| {
            if is_one_of_several {
                writeln!(out, "# {}", printable(&subject.name))?;
            }
            if logs.is_empty() {
                writeln!(
                    out,
                    "# No events were recorded; `vramscope stats` and `memory` show the final state."
                )?;
            }
            logs.iter().try_for_each(|log| log.write(out))
        })
    })
}

impl Options {
    /// The logs of all devices with events in the range. Fails only if no device has the range.
    fn logs<'a>(&'a self, subject: &'a Subject) -> Result<Vec<Log<'a>>, Failure> {
        let devices = subject
            .devices()
            .filter(|device| device.history.event_count > 0);
        let (mut logs, mut failed) = (Vec::new(), Ok(()));
        for device in devices {
            match self.moments(&device) {
                Ok(moments) => logs.push(Log {
                    device,
                    options: self,
                    moments,
                }),
                Err(failure) if failed.is_ok() => failed = Err(failure),
                Err(_) => {}
            }
        }
        if logs.is_empty() {
            failed.map(|()| logs)
        } else {
            Ok(logs)
        }
    }

    fn moments(&self, device: &Device<'_>) -> Result<Moments, Failure> {
        match &self.range {
            Some(text) => device.range(text),
            None => Ok((0, device.history.event_count)),
        }
    }
}

struct Log<'a> {
    device: Device<'a>,
    options: &'a Options,
    moments: Moments,
}

impl Log<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (history, (from, to)) = (self.device.history, self.moments);
        writeln!(out, "Device {} ----------------", history.device)?;
        writeln!(out, "{} entries", history.event_count)?;
        if (from, to) != (0, history.event_count) {
            writeln!(out, "# events {} to {to} of them", from.saturating_add(1))?;
        }
        if self.active_bytes(from) > 0 {
            writeln!(out, "# live before: {}", self.live(from))?;
        }
        let steps = self.device.trace_steps();
        let steps = steps.skip(from as usize).take((to - from.min(to)) as usize);
        for step in steps {
            if !(self.options.filter_freed && is_of_freed(history, step.place)) {
                self.event(out, &step)?;
            }
        }
        let peak = self.size(self.active_bytes(history.peak_moment));
        writeln!(
            out,
            "LIVE MEM: {}; the most was {peak}, after event {}",
            self.live(to),
            history.peak_moment
        )
    }

    fn active_bytes(&self, moment: u32) -> u64 {
        let totals = &self.device.history.active_bytes;
        totals.get(moment as usize).copied().unwrap_or(0)
    }

    /// The live memory at a moment: `12.0MiB in 3 allocations`.
    fn live(&self, moment: u32) -> String {
        let size = self.size(self.active_bytes(moment));
        match live_at(self.device.history, moment).count() {
            1 => format!("{size} in 1 allocation"),
            count => format!("{size} in {count} allocations"),
        }
    }

    fn size(&self, bytes: u64) -> String {
        match self.options.bytes {
            true => bytes.to_string(),
            false => TorchBytes(bytes.into()).to_string(),
        }
    }

    fn event(&self, out: &mut dyn Write, step: &Step) -> io::Result<()> {
        let margin = if self.options.numbers {
            let moment = step.place + 1;
            let live = self.size(self.active_bytes(moment));
            let width = self.device.history.event_count.to_string().len();
            format!("{moment:>width$}  {live:>10}  ")
        } else {
            String::new()
        };
        let event = self.device.snapshot().events.get(step.id);
        writeln!(out, "{margin}{}", self.line(step, &event))?;
        for frame in self.frames(&event) {
            writeln!(out, "{:1$}    # {frame}", "", margin.len())?;
        }
        Ok(())
    }

    fn line(&self, step: &Step, event: &Event) -> String {
        let size = self.size(event.size);
        let address = official_address(self.device.snapshot(), event.addr);
        let name = step
            .name
            .map_or_else(|| address.to_string(), |name| name.to_string());
        match event.action {
            Action::Alloc => match step.holder {
                Some((Holder::Recorded(holder), offset)) => {
                    format!("{name} = {holder}[{offset}:{size}]")
                }
                Some((Holder::Listed(row), offset)) => {
                    format!("{name} = seg_{row}[{offset}:{size}]")
                }
                None => format!("{name} = MEM[{address}:{size}]"),
            },
            Action::FreeRequested => format!("del {name} # {size}"),
            Action::FreeCompleted => format!("# free completed for {name} {size}"),
            Action::SegmentAlloc => format!("{name} = cudaMalloc({address}, {size})"),
            Action::SegmentFree => format!("cudaFree({name}) # {size}"),
            Action::SegmentMap => format!("cuMemMap({address}, {size})"),
            Action::SegmentUnmap => format!("cuMemUnmap({address}, {size})"),
            Action::Oom => {
                let free = event.device_free_bytes();
                let free = free.map_or_else(|| "unknown".to_owned(), |bytes| self.size(bytes));
                format!("raise OutOfMemoryError # {size} requested, {free} free in CUDA")
            }
            Action::Snapshot => format!("# snapshot taken, {size} active"),
            Action::Annotate => format!("# annotate {name}: {}", self.note(event)),
            Action::Other(_) => {
                let action = self.device.snapshot().action_name(step.id);
                format!("# {} {name} {size}", printable_cell(action))
            }
        }
    }

    fn note(&self, event: &Event) -> String {
        let context = self.device.snapshot().contexts.get(event.context);
        let text = context
            .user_metadata
            .map(|id| self.device.snapshot().strings.get(id));
        printable_cell(text.unwrap_or(""))
    }

    /// The innermost frames of an event, without PyTorch's and Python's internals.
    fn frames(&self, event: &Event) -> impl Iterator<Item = String> {
        let stack = self.device.snapshot().stacks.frames(event.stack);
        let shown =
            stack.filter(|&id| self.device.recording.classes().get(id) != FrameClass::Runtime);
        shown.take(self.options.frames).map(|id| {
            let location = Location::of(
                self.device.snapshot(),
                self.device.snapshot().frames.get(id),
            );
            let function = printable_cell(location.function);
            match location.file {
                "" => function,
                file => format!("{}:{}:{function}", printable_cell(file), location.line),
            }
        })
    }
}
