//! Named ranges of a program become `external_annotations`.

use vramscope_core::model::Stage;
use vramscope_record::layout::{Annotation, AnnotationOp};
use vramscope_record::writer::LogWriter;

use crate::support::converted;

fn mark(log: &mut LogWriter, op: AnnotationOp, name: u32) {
    log.annotation(Annotation {
        time_ns: log.offset() * 1000,
        op: op as u8,
        name,
        domain: 2,
        thread: 7,
        ..Annotation::default()
    });
}

#[test]
fn ranges_have_names_domains_threads_and_numbers() {
    let mut log = LogWriter::default();
    log.thread(7, "main");
    log.text(1, "step");
    log.text(2, "model");
    mark(&mut log, AnnotationOp::Pop, 0);
    mark(&mut log, AnnotationOp::Push, 1);
    mark(&mut log, AnnotationOp::Push, 1);
    mark(&mut log, AnnotationOp::Pop, 0);
    let (snapshot, report) = converted(&log);
    let reported: Vec<_> = snapshot
        .annotations
        .rows
        .iter()
        .map(|row| {
            let text = |id| snapshot.strings.get(id);
            assert_eq!(row.domain.map(text), Some("model"));
            assert_eq!(row.thread, Some(7));
            (row.stage, text(row.name), row.range)
        })
        .collect();
    assert_eq!(
        reported,
        [
            (Stage::Start, "step", Some(1)),
            (Stage::Start, "step", Some(2)),
            (Stage::End, "step", Some(2)),
        ]
    );
    assert_eq!(snapshot.extras["capture"]["threads"]["7"], "main");
    assert_eq!(
        report.notes,
        ["1 record ended a named range that was not seen beginning."]
    );
}
