//! Streams and events. All work on them is finished when its call returns.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::{Driver, Graph, HostCall, HostFunction};
use crate::entry::{
    Answer, Handle, contexts, handle, number, result, with_driver, write_optional, write_out,
};

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
        driver.context_of_stream(number(stream)).map(|_| ())
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
        function.ok_or(result::INVALID_VALUE)?(stream, 0, data);
        Ok(())
    }

    fn cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz(_stream: Handle, _address: u64, _bytes: usize, _flags: c_uint) {
        Ok(())
    }

    fn cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz(stream: Handle, _mode: c_uint) |driver| {
        let stream = number(stream);
        // The legacy default stream cannot be captured.
        if stream < 2 || driver.captures.contains_key(&stream) {
            return Err(result::INVALID_VALUE);
        }
        let device = driver.device_of_stream(stream)?;
        let graph = driver.new_handle();
        let created = Graph { device, is_alive: true, ..Graph::default() };
        driver.graphs.insert(graph, created);
        driver.captures.insert(stream, graph);
        Ok(())
    }

    fn cuStreamEndCapture, cuStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) |driver| {
        let captured = driver.captures.remove(&number(stream)).ok_or(result::INVALID_VALUE)?;
        write_out(graph, handle(captured))
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

    fn cuThreadExchangeStreamCaptureMode(_mode: *mut c_uint) {
        Ok(())
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
        let graph = driver.captures.get(&number(stream)).copied();
        if let Some(graph) = graph.and_then(|graph| driver.graphs.get_mut(&graph)) {
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
    let captured = driver.captures.get(&number(stream)).copied();
    write_optional(id, captured.unwrap_or(0));
    write_optional(graph, handle(captured.unwrap_or(0)));
    write_out(status, c_uint::from(captured.is_some()))
}
