"""Alibaba PAI 2020: two tables without header lines, plans for each instance, times of 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlfs_gym.errors import TraceError
from mlfs_gym.workloads import read_trace, write_trace
from tests.workloads.traces.files import skipped_rows

JOBS = "job_name,inst_id,user,status,start_time,end_time"
TASKS = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"


def job(name: str, start: str = "1000.0", end: str = "1700.0", status: str = "Terminated") -> str:
    return f"{name},i-{name},u,{status},{start},{end}"


def task(name: str, gpu: str = "100.0", instances: str = "1.0", start: str = "1100.0", role: str = "worker") -> str:
    return f"{name},{role},{instances},Terminated,{start},1700.0,600.0,29.3,{gpu},MISC"


def tables(folder: Path, jobs: list[str], tasks: list[str]) -> Path:
    file = folder / "pai_job_table.csv"
    file.write_text("".join(f"{line}\n" for line in jobs))
    (folder / "pai_task_table.csv").write_text("".join(f"{line}\n" for line in tasks))
    return file


def test_either_table_names_both(tmp_path: Path) -> None:
    jobs = tables(tmp_path, [job("late", "1200.0"), job("early")], [task("early"), task("late", start="1300.0")])
    for file in (jobs, tmp_path / "pai_task_table.csv"):
        trace = read_trace(file)
        assert (trace.format, trace.ids.tolist()) == ("pai-2020", ["early", "late"])
        assert (trace.arrival.tolist(), trace.run_time.tolist()) == ([0.0, 200.0], [600.0, 400.0])
        assert (trace.rows.tolist(), set(trace.users)) == ([2, 1], {"u"})


@pytest.mark.parametrize(
    ("tasks", "num_gpus", "share"),
    [
        ([task("a", "50.0", "2.0")], 2, 500),  # the plan is for each instance
        ([task("a", "25.0")], 1, 250),
        ([task("a", "800.0", "2.0")], 16, 1000),
        ([task("a", "150.0")], 2, 750),
        ([task("a", "", "1.0", role="ps"), task("a", "50.0", "2.0")], 2, 500),
        ([task("a", "0.0", role="ps"), task("a", "100.0"), task("a", "50.0", role="evaluator")], 2, 750),
    ],
)
def test_gpus_of_all_tasks(tasks: list[str], num_gpus: int, share: int, tmp_path: Path) -> None:
    trace = read_trace(tables(tmp_path, [job("a")], tasks))
    assert (trace.num_gpus.tolist(), trace.gpu_share.tolist()) == ([num_gpus], [share])


def test_header_file_beside_a_table(tmp_path: Path) -> None:
    jobs = tables(tmp_path, ["u,a,1000.0,1700.0"], [task("a")])
    jobs.with_suffix(".header").write_text("user,job_name,start_time,end_time\n")
    assert read_trace(jobs).ids.tolist() == ["a"]
    jobs.with_suffix(".header").write_text("user,job_name,start_time,end\n")
    with pytest.raises(TraceError, match=r"pai_job_table\.header, row 1, field 'end_time'"):
        read_trace(jobs)


def test_header_line_in_a_table(tmp_path: Path) -> None:
    trace = read_trace(tables(tmp_path, [JOBS, job("a")], [TASKS, task("a")]))
    assert (trace.ids.tolist(), trace.rows.tolist()) == (["a"], [2])


def test_cpu_jobs_and_unfinished_ones_are_left_out_and_counted(tmp_path: Path) -> None:
    jobs = [job("a"), job("cpu"), job("running", end="", status="Running"), job("waiting", end="0", status="Waiting")]
    trace = read_trace(tables(tmp_path, jobs, [task("a"), task("cpu", ""), task("running")]))
    assert trace.ids.tolist() == ["a"]
    assert trace.skipped.rows == (("still running or waiting when the trace ends", (3, 4)), ("CPU job: no GPU", (2,)))


def test_jobs_that_failed_are_taken(tmp_path: Path) -> None:
    assert len(read_trace(tables(tmp_path, [job("a", status="Failed")], [task("a")]))) == 1


BAD: dict[str, tuple[str, str, str, int, str | None, list[str]]] = {
    # Second job, its task, file, row and field of the error, what it mentions.
    "end 0": (job("b", end="0"), task("b"), "job", 2, "end_time", ["'0'", "above 0"]),
    "end missing": (job("b", end=""), task("b"), "job", 2, "end_time", ["''"]),
    "start 0": (job("b", start="0.0"), task("b"), "job", 2, "start_time", ["'0.0'"]),
    "ends before its tasks start": (job("b"), task("b", start="1700"), "job", 2, "end_time", ["the first start in"]),
    "no task started": (job("b"), task("b", start="0"), "job", 2, "end_time", ["the first start in"]),
    "no task": (job("b"), task("a", role="ps"), "job", 2, "job_name", ["'b'", "a row in pai_task_table.csv"]),
    "two alike": (job("a"), task("a", role="ps"), "job", 2, "job_name", ["no earlier row"]),
    "too short": ("b,i,u", task("a", role="ps"), "job", 2, None, ["3 cells", "6 cells"]),
    "task of no job": (job("b"), task("c"), "task", 2, "job_name", ["'c'", "a job of the job table"]),
    "no instance": (job("b"), task("b", instances="0.0"), "task", 2, "inst_num", ["'0.0'"]),
    "half an instance": (job("b"), task("b", instances="0.5"), "task", 2, "inst_num", ["'0.5'"]),
    "less than no GPU": (job("b"), task("b", "-50"), "task", 2, "plan_gpu", ["'-50'"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_row(name: str, tmp_path: Path) -> None:
    bad_job, bad_task, table, row, field, mentions = BAD[name]
    jobs = tables(tmp_path, [job("a"), bad_job], [task("a"), bad_task])
    with pytest.raises(TraceError) as caught:
        read_trace(jobs)
    text = str(caught.value)
    assert (caught.value.row, caught.value.field) == (row, field)
    assert [mention for mention in (f"pai_{table}_table.csv", *mentions) if mention not in text] == [], text
    trace = read_trace(jobs, on_error="skip")
    assert trace.ids.tolist() == ["a"]
    assert 2 in skipped_rows(trace)


def test_a_job_with_a_spoilt_task_has_no_other_size(tmp_path: Path) -> None:
    tasks = [task("a"), task("b", "100.0"), task("b", "100.0", "x", role="ps")]
    trace = read_trace(tables(tmp_path, [job("a"), job("b")], tasks), on_error="skip")
    assert trace.ids.tolist() == ["a"]
    reasons = trace.skipped.counts
    assert [reason for reason in reasons if reason.startswith("pai_task_table.csv: field 'inst_num'")]
    assert [reason for reason in reasons if "a job whose rows in pai_task_table.csv can all be used" in reason]


def test_a_converted_table_may_keep_its_name(tmp_path: Path) -> None:
    trace = read_trace(tables(tmp_path, [job("a")], [task("a", "50.0")]))
    (tmp_path / "converted").mkdir()
    write_trace(trace, tmp_path / "converted" / "pai_job_table.csv")
    again = read_trace(tmp_path / "converted" / "pai_job_table.csv")
    assert (again.format, again.gpu_share.tolist()) == ("mlfs-csv", [500])


def test_a_table_alone(tmp_path: Path) -> None:
    jobs = tables(tmp_path, [job("a")], [task("a")])
    (tmp_path / "pai_task_table.csv").unlink()
    with pytest.raises(TraceError, match=r"no pai_task_table\.csv beside it"):
        read_trace(jobs)
    other = jobs.rename(tmp_path / "jobs.csv")
    with pytest.raises(TraceError, match=r"the name 'jobs\.csv', expected pai_job_table\.csv"):
        read_trace(other, "pai-2020")
