"""The boards of gated networks and experts: type a number, and the output follows; and a phone shows it all."""

import re

import pytest
from playwright.sync_api import Locator, expect

from ffn_core.scenario import Edit, Scenario
from tests.browser.visitor import Visit, Visitor, query

pytestmark = pytest.mark.browser

GATES_OUTPUT = "0 0.134 1.46 3.52"
CAT = "/experts?ex=experts&p=1"
CAT_OUTPUT = "0 0 0.0315 0 0.422 0 -0.656 0.937"


def numbers(visitor: Visitor, name: str) -> list[float]:
    return [round(number, 4) for number in visitor.numbers(name)]


def wait_for(visitor: Visitor, cell: str, value: str) -> None:
    """Wait until a cell's label shows this number to the digits given."""
    text = re.escape(value.replace("-", "−"))
    expect(visitor.cell(cell)).to_have_attribute("aria-label", re.compile(rf": {text}\d*(, changed)?$"))


def second(visitor: Visitor) -> Visitor:
    """The same visitor at the board of one expert, further down the page."""
    there = Visitor(visitor.page, visitor.address)
    there.board = visitor.page.locator(".board").nth(1)
    expect(there.board.locator('[data-array="expert_output"]')).to_be_visible()
    return there


def test_a_number_typed_into_either_key_of_a_neuron_changes_the_output_and_undo_takes_it_back(visit: Visit):
    gates = visit("/gates?ex=gates")
    gates.shows("output", GATES_OUTPUT)
    # Neuron 1 reads x[1] = 2 with its up key: 3 in place of 1 makes up 6, and the output 6 · 1.761594.
    gates.edit("w_up[1][1]", "3")
    wait_for(gates, "output[0][3]", "10.5695")
    # Its gate closes to SiLU(0) = 0.
    gates.edit("w_gate[1][1]", "0")
    wait_for(gates, "output[0][3]", "0")
    gates.cell("w_gate[1][1]").focus()
    gates.undo()
    wait_for(gates, "output[0][3]", "10.5695")
    gates.undo()
    gates.shows("output", GATES_OUTPUT)


def test_x_stands_over_both_keys_and_an_edit_of_one_shows_in_the_other(visit: Visit):
    gates = visit("/gates?ex=gates")
    both = gates.board.locator('.cell[aria-label*=" x[0][1]: "]')
    expect(both).to_have_text(["2", "2"])
    both.nth(1).click()
    gates.keyboard.type("4")
    gates.keyboard.press("Enter")
    gates.keyboard.press("Escape")
    expect(both).to_have_text(["4", "4"])
    gates.shows("up", "4 4 4")


def test_pointing_at_what_passes_through_lights_the_up_key_that_made_it(visit: Visit):
    gates = visit("/gates?ex=gates")
    gates.cells("up").nth(2).hover()
    expect(gates.board.locator(".panel")).to_contain_text("up[0][2] = ")
    lit = gates.board.locator(".lit")
    names = {label.split(", ")[-1].split("[")[0] for label in labels(lit)}
    assert names == {"x", "w_up", "up"}


def labels(cells: Locator) -> list[str]:
    found: list[str] = cells.evaluate_all("cells => cells.map((c) => c.getAttribute('aria-label'))")
    return found


def test_the_walk_and_a_nonlinearity_beside_work_for_a_gated_network(visit: Visit):
    gates = visit("/gates?ex=gates")
    gates.board.get_by_role("button", name="2 Gate").click()
    expect(gates.board.locator(".panel")).to_contain_text("2 of 3 neurons fire positively, 1 negatively")
    gates.board.get_by_role("button", name="Show ReLU beside").click()
    gates.shows("output_other", "0 0 2 4")


def test_a_large_gated_network_is_edited_in_the_strips_of_one_neuron(visit: Visit):
    big = visit(None)
    big.page.goto(big.address + "/gates?ex=gated_random&n=300")
    for name in ("x[0][127]", "w_gate[300][0]", "w_up[300][127]", "w_down[127][300]"):
        expect(big.cell(name)).to_be_visible()
    big.edit("w_up[300][5]", "4.5")
    big.wait_for_link(lambda scenario: scenario.build()[0].w_up[300, 5] == 4.5)


def test_a_press_on_a_block_of_the_up_keys_follows_that_neuron(visit: Visit):
    big = visit(None)
    big.page.goto(big.address + "/gates?ex=gated_random")
    canvas = big.board.locator('canvas[data-array="w_up"]')
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    picker = big.page.get_by_label("Neuron shown large")
    expect(picker).not_to_have_value("0")
    assert abs(int(picker.input_value()) - 176) <= 352 / 32


def test_a_number_typed_into_the_router_moves_a_token_to_another_expert(visit: Visit):
    experts = visit(CAT)
    experts.shows("output", CAT_OUTPUT)
    line = experts.board.get_by_role("button", name=re.compile("Choose expert 3 .prepositions."))
    expect(line).to_have_attribute("aria-label", re.compile("not chosen"))
    # "cat" is 1 in coordinate 1: prepositions get the logit 9, and nearly all of the weight.
    experts.edit("router[3][1]", "9")
    expect(line).to_have_attribute("aria-label", re.compile("1st"))
    wait_for(experts, "weight_of_expert[1][3]", "0.995")
    assert numbers(experts, "weight_of_expert")[2] == 0
    experts.cell("router[3][1]").focus()
    experts.undo()
    experts.shows("output", CAT_OUTPUT)


def test_what_was_not_chosen_is_blank_and_hatched_and_a_reader_hears_why(visit: Visit):
    experts = visit(CAT)
    weights = experts.cells("weight_of_expert")
    expect(weights.nth(0)).to_have_class(re.compile("hushed"))
    expect(weights.nth(0)).to_have_attribute("aria-label", re.compile("not chosen"))
    expect(weights.nth(1)).not_to_have_class(re.compile("hushed"))
    expect(experts.cells("output_of_expert").first).to_have_text("")


def test_a_press_on_an_experts_line_opens_its_network(visit: Visit):
    experts = visit(CAT)
    experts.cells("router_logits").nth(1).click()
    expect(second(experts).board.locator(".told")).to_contain_text("chose this expert 1st")


def test_a_number_typed_into_an_expert_reaches_the_mixture(visit: Visit):
    experts = visit(f"{CAT}&q=1")
    expert = second(experts)
    expect(expert.cells("hidden")).to_have_text(["1", "0.7", "0.9", "0"])
    # Neuron 0 reads "noun", which is 1: 3 in place of 1, and its value writes it to coordinate 7.
    expert.edit("w1[1][0][1]", "3")
    expect(expert.cells("hidden").first).to_have_text("3")
    wait_for(experts, "output[1][7]", "2.811")  # 3 · 0.93703
    expert.cell("w1[1][0][1]").focus()
    expert.undo()
    wait_for(experts, "output[1][7]", "0.937")


def test_the_board_of_an_expert_that_was_not_chosen_says_so(visit: Visit):
    expert = second(visit("/experts?ex=experts&p=1&q=3"))
    expect(expert.board.locator(".told")).to_contain_text("does not send position 1 (cat)")


def test_the_walk_goes_through_a_mixture(visit: Visit):
    experts = visit(CAT)
    experts.board.get_by_role("button", name="2 Choose").click()
    expect(experts.board.locator(".panel")).to_contain_text("Expert 1 (nouns) with 0.937")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/gates?ex=gates", ("x", "w_gate", "hidden", "w_up", "up", "activated", "w_down", "output", "residual")),
        ("/gates?ex=cat_gated", ("x", "w_gate", "w_up", "activated", "w_down", "residual")),
        ("/experts?ex=experts", ("x", "router", "weight_of_expert", "output_of_expert", "output", "residual")),
        ("/experts?ex=experts_random", ("x", "router", "output_of_expert", "residual")),
    ],
)  # fmt: skip
def test_a_phone_shows_the_whole_board_without_scrolling_sideways(visit: Visit, path, names):
    phone = visit(
        path, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0, 0]
    for name in names:
        box = phone.array(name).bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390, name


def test_a_thumb_changes_a_weight_of_the_gate_on_a_phone(visit: Visit):
    phone = visit(
        "/gates?ex=gates",
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        device_scale_factor=2,
    )
    cell = phone.cell("w_gate[1][1]")
    box = cell.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 24
    cell.tap()
    phone.keyboard.type("0")
    phone.keyboard.press("Enter")
    phone.keyboard.press("Escape")
    wait_for(phone, "output[0][3]", "0")


def test_a_number_too_wide_for_its_cell_is_rounded_further_and_not_left_out(visit: Visit):
    scenario = Scenario(base="cat_gated")
    layer, _ = scenario.build()
    scenario = scenario.edit(*(Edit("w_down", (0, j), -0.0121) for j in range(layer.d_ff)))
    path = f"/gates{query(scenario)}"
    phone = visit(path, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    number, text = phone.numbers("output")[0], phone.cells("output").all_inner_texts()[0]
    assert text.startswith("−.0")
    digits = len(text.removeprefix("−.0"))
    assert digits < 3
    assert float(text.replace("−", "-")) == float(f"{number:.{digits}g}")
