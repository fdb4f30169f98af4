//! Compares a tree of Python values, field by field, with the result of our decoder for the same bytes.

use vramscope_core::Snapshot;
use vramscope_core::ids::{EventId, StackId, StringId};
use vramscope_core::model::{BlockState, NO_TIME, PoolId, Segment, SegmentKind, SegmentTable};

use crate::naive::Value;

/// Panics if `snapshot` differs from `value`.
pub(crate) fn assert_same(name: &str, value: &Value, snapshot: &Snapshot) {
    let at = Place { name, snapshot };
    let top = match value {
        Value::List(_) => None,
        _ => Some(value),
    };
    let segments = top.map_or_else(|| value.items(), |top| top.list("segments"));
    at.segments("segments", &segments, &snapshot.segments);
    let traces = top.map(|top| top.list("device_traces")).unwrap_or_default();
    assert_eq!(
        traces.len(),
        snapshot.traces.len(),
        "{name}: number of traces"
    );
    for (device, trace) in traces.iter().enumerate() {
        at.trace(
            &format!("device_traces[{device}]"),
            &trace.items(),
            snapshot.traces[device].clone(),
        );
    }
    let Some(top) = top else { return };
    at.segments(
        "host_segments",
        &top.list("host_segments"),
        &snapshot.host_segments,
    );
    at.trace(
        "host_traces",
        &top.list("host_traces"),
        snapshot.host_trace.clone(),
    );
    at.annotations(&top.list("external_annotations"));
    let settings = top
        .get("allocator_settings")
        .map(|settings| settings.json());
    let ours = serde_json::Value::Object(snapshot.settings.clone());
    assert_eq!(
        settings.unwrap_or_else(|| serde_json::json!({})),
        ours,
        "{name}: settings"
    );
}

struct Place<'a> {
    name: &'a str,
    snapshot: &'a Snapshot,
}

impl Place<'_> {
    fn segments(&self, list: &str, values: &[Value], table: &SegmentTable) {
        assert_eq!(values.len(), table.len(), "{}: number of {list}", self.name);
        for (index, (value, segment)) in values.iter().zip(&table.rows).enumerate() {
            self.segment(&format!("{}: {list}[{index}]", self.name), value, segment);
        }
    }

    fn segment(&self, place: &str, value: &Value, segment: &Segment) {
        let unsigned = |key: &str| value.get(key).and_then(|value| value.int()).map(as_u64);
        assert_eq!(
            value.get("device").and_then(|device| device.int()),
            Some(segment.device.into()),
            "{place}"
        );
        assert_eq!(
            unsigned("address"),
            Some(segment.address),
            "{place}.address"
        );
        assert_eq!(
            unsigned("total_size"),
            Some(segment.total_size),
            "{place}.total_size"
        );
        assert_eq!(
            unsigned("allocated_size"),
            segment.allocated_size,
            "{place}.allocated_size"
        );
        assert_eq!(
            unsigned("active_size"),
            segment.active_size,
            "{place}.active_size"
        );
        assert_eq!(
            unsigned("requested_size"),
            segment.requested_size,
            "{place}.requested_size"
        );
        assert_eq!(
            unsigned("stream"),
            segment.stream.map(|stream| stream as u64),
            "{place}.stream"
        );
        assert_eq!(
            pool(value.get("segment_pool_id")),
            segment.pool,
            "{place}.segment_pool_id"
        );
        let expandable = match value.get("is_expandable") {
            Some(Value::Bool(truth)) => Some(truth),
            _ => None,
        };
        assert_eq!(expandable, segment.is_expandable, "{place}.is_expandable");
        let kind = segment.kind.map(|kind| match kind {
            SegmentKind::Small => "small",
            SegmentKind::Large => "large",
            SegmentKind::Other(text) => self.text(text),
        });
        let theirs = value.get("segment_type");
        assert_eq!(
            theirs.as_ref().and_then(Value::text),
            kind,
            "{place}.segment_type"
        );
        self.stack(place, value.get("frames"), segment.stack);
        self.blocks(place, &value.list("blocks"), segment);
    }

    fn blocks(&self, place: &str, values: &[Value], segment: &Segment) {
        assert_eq!(
            values.len(),
            segment.blocks.len(),
            "{place}: number of blocks"
        );
        let mut next_address = segment.address;
        for (index, (value, id)) in values.iter().zip(segment.block_ids()).enumerate() {
            let place = format!("{place}.blocks[{index}]");
            let block = self.snapshot.blocks.get(id);
            let unsigned = |key: &str| value.get(key).and_then(|value| value.int()).map(as_u64);
            assert_eq!(
                unsigned("address").unwrap_or(next_address),
                block.address,
                "{place}.address"
            );
            assert_eq!(unsigned("size"), Some(block.size), "{place}.size");
            assert_eq!(
                unsigned("requested_size"),
                block.requested_size,
                "{place}.requested_size"
            );
            let theirs = value.get("state");
            let state = match block.state {
                BlockState::ActiveAllocated => "active_allocated",
                BlockState::ActivePendingFree => "active_pending_free",
                BlockState::Inactive => "inactive",
                BlockState::Other(text) => self.text(text),
            };
            let theirs = theirs
                .as_ref()
                .and_then(Value::text)
                .map(|state| match state {
                    "active_awaiting_free" => "active_pending_free",
                    state => state,
                });
            assert_eq!(theirs, Some(state), "{place}.state");
            self.stack(&place, value.get("frames"), block.stack);
            self.tenants(&place, value, id);
            next_address = block.address.wrapping_add(block.size);
        }
    }

    fn tenants(&self, place: &str, value: &Value, id: vramscope_core::ids::BlockId) {
        let theirs = value.list("history");
        let ours = self.snapshot.blocks.tenants(self.snapshot.blocks.get(id));
        assert_eq!(theirs.len(), ours.len(), "{place}.history");
        for (theirs, ours) in theirs.iter().zip(ours) {
            let unsigned = |key: &str| theirs.get(key).and_then(|value| value.int()).map(as_u64);
            assert_eq!(unsigned("addr"), ours.address, "{place}.history");
            assert_eq!(
                unsigned("real_size"),
                Some(ours.real_size),
                "{place}.history"
            );
            self.stack(place, theirs.get("frames"), ours.stack);
        }
    }

    fn trace(&self, trace: &str, values: &[Value], rows: std::ops::Range<u32>) {
        assert_eq!(values.len(), rows.len(), "{}: length of {trace}", self.name);
        for (index, (value, row)) in values.iter().zip(rows).enumerate() {
            self.event(
                &format!("{}: {trace}[{index}]", self.name),
                value,
                EventId(row),
            );
        }
    }

    fn event(&self, place: &str, value: &Value, id: EventId) {
        let event = self.snapshot.events.get(id);
        let context = *self.snapshot.contexts.get(event.context);
        let unsigned = |key: &str| value.get(key).and_then(|value| value.int()).map(as_u64);
        let action = value.get("action");
        assert_eq!(
            action.as_ref().and_then(Value::text),
            Some(self.snapshot.action_name(id)),
            "{place}.action"
        );
        let addr = unsigned("addr").or(unsigned("device_free"));
        assert_eq!(addr, Some(event.addr), "{place}.addr");
        assert_eq!(unsigned("size"), Some(event.size), "{place}.size");
        assert_eq!(
            unsigned("stream"),
            Some(context.stream as u64),
            "{place}.stream"
        );
        let time = value.get("time_us").and_then(|time| time.int());
        assert_eq!(
            time.unwrap_or(i128::from(NO_TIME)),
            i128::from(event.time_us),
            "{place}.time_us"
        );
        assert_eq!(pool(value.get("pool_id")), context.pool, "{place}.pool_id");
        self.optional(place, value, "compile_context", context.compile_context);
        self.optional(place, value, "user_metadata", context.user_metadata);
        self.optional(place, value, "internal_metadata", context.internal_metadata);
        self.optional(place, value, "category", context.category);
        let theirs: Vec<Value> = value.list("forward_frames");
        let ours: Vec<&str> = self
            .snapshot
            .contexts
            .forward_lines(context.forward_lines)
            .map(|id| self.text(id))
            .collect();
        assert_eq!(
            theirs.iter().filter_map(Value::text).collect::<Vec<_>>(),
            ours,
            "{place}.forward_frames"
        );
        self.stack(place, value.get("frames"), event.stack);
    }

    fn optional(&self, place: &str, value: &Value, key: &str, ours: Option<StringId>) {
        let theirs = value.get(key);
        assert_eq!(
            theirs.as_ref().and_then(Value::text),
            ours.map(|id| self.text(id)),
            "{place}.{key}"
        );
    }

    fn stack(&self, place: &str, theirs: Option<Value>, ours: StackId) {
        let Some(theirs) = theirs else {
            return assert_eq!(ours, StackId::ABSENT, "{place}: no frames");
        };
        assert_ne!(ours, StackId::ABSENT, "{place}.frames");
        let theirs = theirs.items();
        let ours = self.snapshot.stacks.frames(ours);
        assert_eq!(theirs.len(), ours.len(), "{place}.frames");
        for (theirs, ours) in theirs.iter().zip(ours) {
            let ours = self.snapshot.frames.get(ours);
            let text = |key: &str| {
                theirs
                    .get(key)
                    .and_then(|value| value.text().map(str::to_owned))
                    .unwrap_or_default()
            };
            assert_eq!(text("name"), self.text(ours.name), "{place}.frames");
            assert_eq!(text("filename"), self.text(ours.filename), "{place}.frames");
            assert_eq!(
                theirs.get("line").and_then(|line| line.int()),
                Some(ours.line.into()),
                "{place}.frames"
            );
            let fx = ours.fx.map(|fx| {
                [fx.op, fx.name, fx.target, fx.original_trace].map(|id| self.text(id).to_owned())
            });
            let keys = [
                "fx_node_op",
                "fx_node_name",
                "fx_node_target",
                "fx_original_trace",
            ];
            let has_fx = keys.iter().any(|key| theirs.get(key).is_some());
            assert_eq!(has_fx.then(|| keys.map(text)), fx, "{place}.frames: fx");
        }
    }

    fn annotations(&self, values: &[Value]) {
        let ours = &self.snapshot.annotations.rows;
        assert_eq!(
            values.len(),
            ours.len(),
            "{}: external_annotations",
            self.name
        );
        for (value, ours) in values.iter().zip(ours) {
            let stage = match ours.stage {
                vramscope_core::model::Stage::Start => "START",
                vramscope_core::model::Stage::End => "END",
                vramscope_core::model::Stage::Other(text) => self.text(text),
            };
            assert_eq!(
                value.get("stage").as_ref().and_then(Value::text),
                Some(stage)
            );
            assert_eq!(
                value.get("name").as_ref().and_then(Value::text),
                Some(self.text(ours.name))
            );
            assert_eq!(
                value.get("device").and_then(|device| device.int()),
                Some(ours.device.into())
            );
            assert_eq!(
                value.get("time_us").and_then(|time| time.int()),
                Some(ours.time_us.into())
            );
        }
    }

    fn text(&self, id: StringId) -> &str {
        self.snapshot.strings.get(id)
    }
}

/// Addresses and handles may be signed or unsigned; the same 64 bits are the same address.
fn as_u64(number: i128) -> u64 {
    number as u64
}

fn pool(value: Option<Value>) -> Option<PoolId> {
    let items = value?.items();
    Some(PoolId(
        as_u64(items.first()?.int()?),
        as_u64(items.get(1)?.int()?),
    ))
}
