//! Streams and events. All work on them is finished when its call returns.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};

use crate::driver::{Capture, Driver, Graph, HostCall, HostFunction};
use crate::entry::{
    Answer, Handle, contexts, handle, number, on_drivers_thread, read_in, result, with_driver,
    write_optional, write_out,
};
use crate::habits::habits;

type Callback = extern "C" fn(Handle, u32, *mut c_void);

driver! {
    fn cuStreamCreate(stream: *mut Handle, _flags: c_uint) |driver| {
        create(driver, stream)
    }

    fn cuStreamCreateWithPriority(stream: *mut Handle, _flags: c_uint, _priority: c_int) |driver| {
        create(driver, stream)
    }

    fn cuStreamDestroy_v2(stream: Handle) |driver| {
        driver.streams.remove(&number(stream)).ok_or(result::INVALID_HANDLE).map(|_| ())
    }

    fn cuStreamGetCtx, cuStreamGetCtx_ptsz(stream: Handle, context: *mut Handle) |driver| {
        let of = driver.context_of_stream(number(stream))?;
        write_out(context, handle(of))
    }

    fn cuStreamGetDevice, cuStreamGetDevice_ptsz(stream: Handle, device: *mut c_int) |driver| {
        let of = driver.device_of_stream(number(stream))?;
        write_out(device, of as c_int)
    }

    fn cuStreamGetFlags, cuStreamGetFlags_ptsz(stream: Handle, flags: *mut c_uint) |driver| {
        driver.context_of_stream(number(stream))?;
        write_out(flags, 0)
    }

    fn cuStreamGetPriority, cuStreamGetPriority_ptsz(stream: Handle, priority: *mut c_int) |driver| {
        driver.context_of_stream(number(stream))?;
        write_out(priority, 0)
    }

    fn cuStreamQuery, cuStreamQuery_ptsz(stream: Handle) |driver| {
        let device = driver.device_of_stream(number(stream))?;
        if habits().trims_at_query != 0 {
            driver.synchronise(device);
        }
        Ok(())
    }

    fn cuStreamSynchronize, cuStreamSynchronize_ptsz(stream: Handle) |driver| {
        if driver.captures.contains_key(&number(stream)) {
            return Err(result::STREAM_CAPTURE_INVALIDATED);
        }
        let device = driver.device_of_stream(number(stream))?;
        driver.synchronise(device);
        Ok(())
    }

    fn cuStreamWaitEvent, cuStreamWaitEvent_ptsz(stream: Handle, _event: Handle, _flags: c_uint) |driver| {
        driver.context_of_stream(number(stream)).map(|_| ())
    }

    /// The function runs at once on another thread, or with the graph that captures the stream.
    fn cuLaunchHostFunc, cuLaunchHostFunc_ptsz(stream: Handle, function: Option<HostFunction>, data: *mut c_void) {
        host_function(stream, function, data)
    }

    fn cuLaunchHostFunc_v2, cuLaunchHostFunc_v2_ptsz(stream: Handle, function: Option<HostFunction>, data: *mut c_void, mode: c_uint) {
        if mode > 1 {
            return Err(result::INVALID_VALUE);
        }
        host_function(stream, function, data)
    }

    fn cuStreamAddCallback, cuStreamAddCallback_ptsz(stream: Handle, function: Option<Callback>, data: *mut c_void, _flags: c_uint) {
        let function = function.ok_or(result::INVALID_VALUE)?;
        let (stream, data) = (stream as usize, data as usize);
        on_drivers_thread(|| function(stream as Handle, 0, data as *mut c_void));
        Ok(())
    }

    fn cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz(_stream: Handle, _address: u64, _bytes: usize, _flags: c_uint) {
        Ok(())
    }

    fn cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz(stream: Handle, mode: c_uint) |driver| {
        begin_capture(driver, stream, mode)
    }

    fn cuStreamBeginRecaptureToGraph, cuStreamBeginRecaptureToGraph_ptsz(
        stream: Handle, mode: c_uint, graph: Handle, _each: *const c_void, _data: *mut c_void,
    ) |driver| {
        capture_into(driver, stream, mode, number(graph))
    }

    /// Under a name that nobody hooks: as if the capture had begun before the program was looked at.
    fn fakecudaBeginCaptureUnseen(stream: Handle, mode: c_uint) |driver| {
        begin_capture(driver, stream, mode)
    }

    fn cuStreamEndCapture, cuStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) |driver| {
        let captured = driver.captures.remove(&number(stream)).ok_or(result::INVALID_VALUE)?;
        if captured.is_invalid {
            return Err(result::STREAM_CAPTURE_INVALIDATED);
        }
        write_out(graph, handle(captured.graph))
    }

    fn cuStreamIsCapturing, cuStreamIsCapturing_ptsz(stream: Handle, status: *mut c_uint) |driver| {
        write_out(status, c_uint::from(driver.captures.contains_key(&number(stream))))
    }

    fn cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz(
        stream: Handle, status: *mut c_uint, id: *mut u64, graph: *mut Handle, dependencies: *mut Handle, count: *mut usize,
    ) |driver| {
        capture_info(driver, stream, status, id, graph)?;
        write_optional(dependencies, std::ptr::null_mut());
        write_optional(count, 0);
        Ok(())
    }

    fn cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz(
        stream: Handle, status: *mut c_uint, id: *mut u64, graph: *mut Handle, dependencies: *mut Handle,
        edges: *mut Handle, count: *mut usize,
    ) |driver| {
        capture_info(driver, stream, status, id, graph)?;
        write_optional(dependencies, std::ptr::null_mut());
        write_optional(edges, std::ptr::null_mut());
        write_optional(count, 0);
        Ok(())
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) {
        let wanted = read_in(mode)?;
        write_out(mode, MODE.replace(wanted))
    }

    fn cuEventCreate(event: *mut Handle, _flags: c_uint) |driver| {
        driver.current()?;
        let created = driver.new_handle();
        write_out(event, handle(created))
    }

    fn cuEventDestroy_v2(_event: Handle) {
        Ok(())
    }

    fn cuEventRecord, cuEventRecord_ptsz(_event: Handle, stream: Handle) |driver| {
        driver.context_of_stream(number(stream)).map(|_| ())
    }

    fn cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz(_event: Handle, stream: Handle, _flags: c_uint) |driver| {
        driver.context_of_stream(number(stream)).map(|_| ())
    }

    fn cuEventQuery(_event: Handle) {
        Ok(())
    }

    fn cuEventSynchronize(_event: Handle) |driver| {
        // Without a current context, the first device stands for the event's.
        let current = contexts(|stack| stack.last().copied()).unwrap_or(0);
        let device = driver.contexts.get(&current).map_or(0, |context| context.device);
        driver.synchronise(device);
        Ok(())
    }

    fn cuEventElapsedTime(milliseconds: *mut f32, _start: Handle, _end: Handle) {
        write_out(milliseconds, 0.1)
    }

    fn cuEventElapsedTime_v2(milliseconds: *mut f32, _start: Handle, _end: Handle) {
        write_out(milliseconds, 0.1)
    }
}

thread_local! {
    /// The thread's capture mode.
    static MODE: Cell<c_uint> = const { Cell::new(GLOBAL) };
}

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`
const GLOBAL: c_uint = 0;

fn begin_capture(driver: &mut Driver, stream: Handle, mode: c_uint) -> Answer {
    let device = driver.device_of_stream(number(stream))?;
    let graph = driver.new_handle();
    capture_into(driver, stream, mode, graph)?;
    let created = Graph {
        device,
        is_alive: true,
        ..Graph::default()
    };
    driver.graphs.insert(graph, created);
    Ok(())
}

fn capture_into(driver: &mut Driver, stream: Handle, mode: c_uint, graph: u64) -> Answer {
    let stream = number(stream);
    // The legacy default stream cannot be captured.
    if stream < 2 || driver.captures.contains_key(&stream) {
        return Err(result::INVALID_VALUE);
    }
    let capture = Capture {
        graph,
        is_global: mode == GLOBAL,
        is_invalid: false,
    };
    driver.captures.insert(stream, capture);
    Ok(())
}

/// A call that a thread in global mode must not make while a capture in global mode is active: it would invalidate
/// the capture.
///
/// # Errors
///
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if it did.
pub(super) fn forbid_in_captures(driver: &mut Driver) -> Answer {
    let mut hit = driver
        .captures
        .values_mut()
        .filter(|capture| capture.is_global && MODE.get() == GLOBAL)
        .peekable();
    if hit.peek().is_none() {
        return Ok(());
    }
    hit.for_each(|capture| capture.is_invalid = true);
    Err(result::STREAM_CAPTURE_UNSUPPORTED)
}

fn create(driver: &mut Driver, place: *mut Handle) -> Answer {
    let (context, _) = driver.current()?;
    let stream = driver.new_handle();
    driver.streams.insert(stream, context);
    write_out(place, handle(stream))
}

fn host_function(stream: Handle, function: Option<HostFunction>, data: *mut c_void) -> Answer {
    let function = HostCall {
        function: function.ok_or(result::INVALID_VALUE)?,
        data: number(data),
    };
    let mut is_captured = false;
    let capture = |driver: &mut Driver| {
        let capture = driver.captures.get(&number(stream)).copied();
        if let Some(graph) = capture.and_then(|capture| driver.graphs.get_mut(&capture.graph)) {
            graph.host_calls.push(function);
            is_captured = true;
        }
        Ok(())
    };
    match with_driver("cuLaunchHostFunc", capture) {
        result::SUCCESS => {}
        error => return Err(error),
    }
    if !is_captured {
        function.run();
    }
    Ok(())
}

fn capture_info(
    driver: &Driver,
    stream: Handle,
    status: *mut c_uint,
    id: *mut u64,
    graph: *mut Handle,
) -> Answer {
    let captured = driver
        .captures
        .get(&number(stream))
        .map(|capture| capture.graph);
    write_optional(id, captured.unwrap_or(0));
    write_optional(graph, handle(captured.unwrap_or(0)));
    write_out(status, c_uint::from(captured.is_some()))
}
